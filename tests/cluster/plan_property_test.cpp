// The planner against the rules read out loud: on thousands of small cases, with stores lost, moved, half written and
// damaged, every rank's source must be the cheapest that there is, and must be what it says.
#include <algorithm>
#include <optional>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include "recover/plan.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/large_layout.hpp"
#include "topology/placement.hpp"

namespace cairn::test {
namespace {

constexpr Identity kSnapshot{{1}, {3}, {77}};

struct Case {
  Inventory inventory;
  Layout today;
};

// Looks through all holdings for each question, and remembers nothing.
class Reading {
 public:
  explicit Reading(const Case& one) : one_(one), dir_(names::snapshot(kSnapshot)) {}

  // Cost, store, level: a file in the right store is cheaper than one elsewhere, a shard than a copy.
  using File = std::tuple<int, std::uint32_t, LevelId>;
  [[nodiscard]] std::optional<File> cheapest_file(Rank rank) const {
    std::optional<File> best;
    const std::uint32_t to = one_.today.node_of_rank[rank.value].value;
    for (const LevelId level : {LevelId::local, LevelId::partner}) {
      for (const auto& [id, layout] : one_.inventory.layouts) {
        for (const std::uint32_t head : stores_with(level, layout, rank)) {
          const File file{(head == to ? 0 : 2) + (level == LevelId::partner ? 1 : 0), head, level};
          best = best ? std::min(*best, file) : file;
        }
      }
    }
    return best;
  }

  [[nodiscard]] bool holds(const Layout& layout, std::uint32_t column, const Piece& piece) const {
    const auto& members = layout.groups[group_];
    const ErasureShape shape = layout.shape_of(group_);
    if (piece.row >= shape.data()) {
      const std::uint32_t row = piece.row - shape.data();
      return has_parity(layout, piece.holder.value, members[shape.parity_holder(column, row)], column, row);
    }
    const auto volumes = volumes_of(layout, members[shape.data_holder(column, piece.row)],
                                    piece.copies ? LevelId::partner : LevelId::local);
    return std::ranges::find(volumes, piece.holder.value) != volumes.end();
  }

  // Whether every column in which the rank's node has a chunk has enough parts left.
  [[nodiscard]] bool decodes(const Layout& layout, Rank rank) {
    const NodeId owner = layout.node_of_rank[rank.value];
    const Layout::GroupPlace place = layout.place_in_group(owner);
    if (place.group == layout.groups.size()) return false;
    group_ = place.group;
    const auto& members = layout.groups[place.group];
    const ErasureShape shape = layout.shape_of(place.group);
    for (std::uint32_t t = 0; t < shape.chunks(place.index); ++t) {
      const std::uint32_t column = shape.column_of_chunk(place.index, t);
      std::uint32_t parts = 0;
      for (std::uint32_t row = 0; row < shape.n; ++row) {
        const bool data = row < shape.data();
        const NodeId node =
            members[data ? shape.data_holder(column, row) : shape.parity_holder(column, row - shape.data())];
        if (data && node == owner) continue;
        bool there = false;
        for (std::uint32_t head = 0; head < one_.inventory.by_head.size(); ++head) {
          there |=
              data ? holds(layout, column, {row, Peer{head}, false}) || holds(layout, column, {row, Peer{head}, true})
                   : holds(layout, column, {row, Peer{head}, false});
        }
        parts += there ? 1 : 0;
      }
      if (parts < shape.data()) return false;
    }
    return true;
  }

  // Whether a rank's shard can be had from where a plan says.
  [[nodiscard]] bool gives(const Delivery& delivery) {
    if (delivery.level == LevelId::global) return global(delivery.rank);
    if (const auto holder = delivery.holder()) {
      const auto* copy = std::get_if<CopiedShard>(&delivery.source);
      return std::ranges::any_of(one_.inventory.layouts, [&](const auto& entry) {
        if (copy != nullptr && copy->layout != entry.first) return false;
        const auto heads = stores_with(delivery.level, entry.second, delivery.rank);
        return std::ranges::find(heads, holder->value) != heads.end();
      });
    }
    const auto& decode = std::get<DecodedShard>(delivery.source);
    const Layout& layout = one_.inventory.layouts.at(decode.layout);
    const Layout::GroupPlace place = layout.place_in_group(decode.owner);
    group_ = place.group;
    const ErasureShape shape = layout.shape_of(group_);
    for (std::uint32_t t = 0; t < decode.chunks.size(); ++t) {
      const std::uint32_t column = shape.column_of_chunk(place.index, t);
      std::set<std::uint32_t> rows;
      for (const Piece& piece : decode.chunks[t]) {
        if (holds(layout, column, piece)) rows.insert(piece.row);
      }
      if (rows.size() < shape.data()) return false;
    }
    return decode.chunks.size() == shape.chunks(place.index);
  }

  [[nodiscard]] bool global(Rank rank) const {
    const auto shared = one_.inventory.shared.find(LevelId::global);
    const auto there = shared == one_.inventory.shared.end() ? std::vector<Identity>{} : shared->second;
    return std::ranges::find(there, kSnapshot) != there.end() &&
           !one_.inventory.struck(StoreId::global(), names::manifest(dir_)) &&
           !one_.inventory.struck(StoreId::global(), names::shard(dir_, rank));
  }

 private:
  template <class Wanted>
  [[nodiscard]] bool any_holding(std::uint32_t head, const Layout& layout, Wanted wanted) const {
    return std::ranges::any_of(one_.inventory.by_head[head], [&](const HoldingSummary& s) {
      return s.snapshot == kSnapshot && s.layout == layout.id() && wanted(s);
    });
  }

  [[nodiscard]] std::vector<std::uint32_t> stores_with(LevelId level, const Layout& layout, Rank rank) const {
    std::vector<std::uint32_t> heads;
    const NodeId owner = layout.node_of_rank[rank.value];
    const FileName file =
        level == LevelId::local ? names::shard(dir_, rank) : names::copy(dir_, {owner, rank, layout.id()});
    for (std::uint32_t head = 0; head < one_.inventory.by_head.size(); ++head) {
      const bool there = any_holding(head, layout, [&](const HoldingSummary& s) {
        if (level == LevelId::local) return s.levels.has(LevelId::local) && s.node == owner;
        const auto owners = owners_held_by(layout, s.node, s.turn);
        return s.levels.has(LevelId::partner) && std::ranges::find(owners, owner) != owners.end();
      });
      if (there && !one_.inventory.struck(StoreId::node(head), file)) heads.push_back(head);
    }
    return heads;
  }

  [[nodiscard]] std::vector<std::uint32_t> volumes_of(const Layout& layout, NodeId node, LevelId level) const {
    std::vector<std::uint32_t> heads;
    bool first = true;
    for (const Rank rank : layout.ranks_on(node)) {
      const auto with = stores_with(level, layout, rank);
      if (first) heads = with;
      std::erase_if(heads, [&](std::uint32_t head) { return std::ranges::find(with, head) == with.end(); });
      first = false;
    }
    return heads;
  }

  [[nodiscard]] bool has_parity(const Layout& layout, std::uint32_t head, NodeId node, std::uint32_t column,
                                std::uint32_t row) const {
    return any_holding(head, layout,
                       [&](const HoldingSummary& s) { return s.levels.has(LevelId::erasure) && s.node == node; }) &&
           !one_.inventory.struck(StoreId::node(head), names::parity(dir_, {column, row, layout.id()}));
  }

  const Case& one_;
  DirName dir_;
  std::uint32_t group_ = 0;
};

Layout random_layout(std::mt19937& random, std::uint32_t ranks) {
  const std::uint32_t nodes = 3 + random() % 4;
  Layout layout;
  layout.nodes = nodes;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) layout.node_of_rank.push_back(NodeId{rank % nodes});
  if (random() % 3 != 0) layout.copies = 1;
  layout.rotation = 1 + random() % 2;
  if (random() % 4 == 0) {
    for (std::uint32_t node = 0; node < nodes; ++node) layout.domain_of_node.push_back(node / 2);
  }
  layout.parity = 1 + random() % 2;
  layout.groups = random() % 3 == 0 ? std::vector<std::vector<NodeId>>{}
                                    : make_groups(nodes, nodes, layout.parity, layout.domain_of_node);
  if (random() % 3 == 0) layout.avoided = {NodeId{static_cast<std::uint32_t>(random() % nodes)}};
  for (auto& group : layout.groups)
    std::stable_partition(group.begin(), group.end(), [&](NodeId node) { return !layout.avoids(node); });
  return layout;
}

Case random_case(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto one_in = [&](std::uint32_t n) { return random() % n == 0; };
  const std::uint32_t ranks = 6 + random() % 5;
  Case one{{}, random_layout(random, ranks)};
  const std::uint32_t heads = one.today.nodes;
  one.inventory.by_head.resize(heads);
  const DirName dir = names::snapshot(kSnapshot);
  const std::uint32_t layouts = 1 + random() % 2;
  for (std::uint32_t l = 0; l < layouts; ++l) {
    const Layout layout = random_layout(random, ranks);
    one.inventory.layouts[layout.id()] = layout;
    const std::uint32_t moved = one_in(3) ? 1 : 0;
    for (std::uint32_t node = 0; node < layout.nodes; ++node) {
      if (one_in(4)) continue;
      const std::uint32_t head = (node + moved) % heads;
      LevelSet levels;
      if (!one_in(6)) levels.add(LevelId::local);
      if (layout.copies > 0 && !one_in(6)) levels.add(LevelId::partner);
      if (!layout.groups.empty() && !one_in(6)) levels.add(LevelId::erasure);
      one.inventory.by_head[head].push_back(
          {kSnapshot, layout.id(), NodeId{node}, levels, static_cast<std::uint32_t>(random() % layout.rotation)});
    }
    for (std::uint32_t i = random() % 4; i > 0; --i) {
      const Rank rank{static_cast<std::uint32_t>(random() % ranks)};
      const std::uint32_t head = random() % heads;
      const names::Parity parity{static_cast<std::uint32_t>(random() % layout.nodes),
                                 static_cast<std::uint32_t>(random() % layout.parity), layout.id()};
      one.inventory.strikes.insert({StoreId::node(head), names::shard(dir, rank).path});
      one.inventory.strikes.insert(
          {StoreId::node(head), names::copy(dir, {layout.node_of_rank[rank.value], rank, layout.id()}).path});
      one.inventory.strikes.insert({StoreId::node(head), names::parity(dir, parity).path});
    }
  }
  if (one_in(4)) one.inventory.shared[LevelId::global].push_back(kSnapshot);
  if (one_in(3)) one.inventory.strikes.insert({StoreId::global(), names::shard(dir, Rank{1}).path});
  if (one_in(9)) one.inventory.strikes.insert({StoreId::global(), names::manifest(dir).path});
  return one;
}

// The source of one rank, or that there is none.
void expect_source(const Case& one, Rank rank, const Delivery* delivery) {
  Reading reading(one);
  const DirName dir = names::snapshot(kSnapshot);
  if (const auto file = reading.cheapest_file(rank)) {
    ASSERT_NE(delivery, nullptr);
    const auto& [cost, holder, level] = *file;
    EXPECT_EQ(delivery->level, level);
    EXPECT_EQ(delivery->holder()->value, holder);
    if (level == LevelId::local) {
      EXPECT_EQ(delivery->file(dir), names::shard(dir, rank));
    } else {
      const auto& copy = std::get<CopiedShard>(delivery->source);
      EXPECT_EQ(delivery->file(dir), names::copy(dir, {copy.owner, rank, copy.layout}));
    }
    return;
  }
  for (const auto& [id, layout] : one.inventory.layouts) {
    if (!reading.decodes(layout, rank)) continue;
    ASSERT_NE(delivery, nullptr);
    ASSERT_EQ(delivery->level, LevelId::erasure);
    const auto& decode = std::get<DecodedShard>(delivery->source);
    EXPECT_EQ(decode.layout, id);
    const Layout::GroupPlace place = layout.place_in_group(layout.node_of_rank[rank.value]);
    const ErasureShape shape = layout.shape_of(place.group);
    ASSERT_EQ(decode.chunks.size(), shape.chunks(place.index));
    for (std::uint32_t t = 0; t < decode.chunks.size(); ++t) {
      const std::uint32_t column = shape.column_of_chunk(place.index, t);
      std::set<std::uint32_t> rows;
      for (const Piece& piece : decode.chunks[t]) {
        rows.insert(piece.row);
        EXPECT_TRUE(reading.holds(layout, column, piece)) << "row " << piece.row << " of column " << column;
      }
      EXPECT_EQ(rows.size(), shape.data());
    }
    return;
  }
  EXPECT_EQ(delivery != nullptr, reading.global(rank));
  if (delivery != nullptr) {
    EXPECT_EQ(delivery->level, LevelId::global);
  }
}

TEST(PlanProperty, every_source_is_the_cheapest_that_there_is_and_what_it_says) {
  std::uint32_t whole = 0;
  std::uint32_t levels[kLevels + 1] = {};
  for (std::uint32_t seed = 0; seed < 4000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "case " << seed);
    const Case one = random_case(seed);
    const auto plan = make_plan({one.inventory, one.today, Incarnation{}, {}, {}, {}});
    if (plan) {
      ++whole;
      ASSERT_EQ(plan->deliveries.size(), one.today.node_of_rank.size());
      for (std::uint32_t rank = 0; rank < plan->deliveries.size(); ++rank) {
        ++levels[static_cast<std::size_t>(plan->deliveries[rank].level)];
        EXPECT_EQ(plan->deliveries[rank].to.value, one.today.node_of_rank[rank].value);
        expect_source(one, Rank{rank}, &plan->deliveries[rank]);
      }
      continue;
    }
    if (plan.error().code == Code::not_found) continue;
    // One that is named has no source, and whoever has none stands in its way.
    Things missing;
    for (std::uint32_t rank = 0; rank < one.today.node_of_rank.size(); ++rank) {
      Reading reading(one);
      const bool decodes = std::ranges::any_of(
          one.inventory.layouts, [&](const auto& entry) { return reading.decodes(entry.second, Rank{rank}); });
      if (!reading.cheapest_file(Rank{rank}) && !decodes && !reading.global(Rank{rank}))
        missing.push_back(fmt::format("rank {}", rank));
    }
    EXPECT_FALSE(missing.empty());
    EXPECT_THAT(plan, Fails(Code::unrecoverable, missing));
  }
  // The cases are of use only if they meet every kind of source, and refusals.
  EXPECT_GT(whole, 500U);
  EXPECT_LT(whole, 3800U);
  for (const LevelId level : kAllLevels) EXPECT_GT(levels[static_cast<std::size_t>(level)], 100U);
}

TEST(PlanProperty, whatever_the_hint_a_plan_is_found_when_there_is_one_and_its_sources_are_what_they_say) {
  std::uint32_t otherwise = 0;
  for (std::uint32_t seed = 0; seed < 2000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "case " << seed);
    const Case one = random_case(seed);
    const auto plan = make_plan({one.inventory, one.today, Incarnation{}, {}, {}, {}});
    std::mt19937 random(seed);
    for (int i = 0; i < 4; ++i) {
      std::vector<std::uint32_t> hint;
      for (std::uint32_t node = 0; node < one.today.nodes + 2; ++node) {
        if (random() % 2 == 0) hint.push_back(node);
      }
      const auto hinted = make_plan({one.inventory, one.today, Incarnation{}, hint, {}, {}});
      ASSERT_EQ(hinted.has_value(), plan.has_value());
      if (!plan) continue;
      EXPECT_EQ(hinted->snapshot, plan->snapshot);
      ASSERT_EQ(hinted->deliveries.size(), plan->deliveries.size());
      for (std::size_t rank = 0; rank < plan->deliveries.size(); ++rank) {
        EXPECT_TRUE(Reading(one).gives(hinted->deliveries[rank])) << "rank " << rank;
        otherwise += hinted->deliveries[rank].level != plan->deliveries[rank].level ? 1 : 0;
      }
    }
  }
  EXPECT_GT(otherwise, 100U) << "hints must have led to other sources now and then";
}

TEST(PlanProperty, a_right_hint_changes_no_file_and_saves_or_loses_nothing) {
  const Layout layout = large_layout(24, 3);
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const auto lost = sample_nodes(layout.nodes, 1 + seed % 4, seed);
    const Inventory inventory = inventory_after(layout, 2, lost);
    const auto plan = make_plan({inventory, layout, Incarnation{}, {}, {}, {}});
    const auto hinted = make_plan({inventory, layout, Incarnation{}, {lost.begin(), lost.end()}, {}, {}});
    ASSERT_EQ(plan.has_value(), hinted.has_value());
    if (!plan) continue;
    const DirName dir = names::snapshot(plan->snapshot);
    for (std::size_t rank = 0; rank < plan->deliveries.size(); ++rank) {
      // Where L2 cannot have survived as a whole the hint leaves it out: then a decode may stand for a copy.
      const Delivery& with = hinted->deliveries[rank];
      if (with.level == LevelId::erasure) continue;
      EXPECT_EQ(with.file(dir), plan->deliveries[rank].file(dir));
    }
  }
}

}  // namespace
}  // namespace cairn::test
