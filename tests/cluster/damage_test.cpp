// Damage to single files: what is bad is struck and the next source taken; what redundancy cannot replace is refused;
// wrong bytes never come back.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "format/parity_file.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/head_cluster.hpp"
#include "support/hooked_store.hpp"
#include "topology/placement.hpp"

// HDF5 1.10 does not free all it has of a file in which it met damaged metadata (h5dump leaves the same behind).
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "leak:libhdf5";
}

namespace cairn::test {
namespace {

constexpr auto kPartner = LevelId::partner;
constexpr auto kErasure = LevelId::erasure;
constexpr auto kGlobal = LevelId::global;

HeadCluster damage_cluster(const std::vector<std::uint32_t>& ranks, std::uint32_t copies, std::uint32_t parity) {
  Layout layout = layout_of_ranks(ranks);
  layout.copies = copies;
  layout.groups = make_groups(layout.nodes, layout.nodes, parity, {});
  layout.parity = parity;
  return HeadCluster(layout, [](std::uint32_t rank) { return 20 + rank * 131 % 300; });
}

enum class Damage { flip_first, flip_after_header, flip_middle, flip_last, truncate, remove };
constexpr Damage kEveryDamage[] = {Damage::flip_first, Damage::flip_after_header, Damage::flip_middle,
                                   Damage::flip_last,  Damage::truncate,          Damage::remove};

void damage(MemoryStore& store, const std::string& path, std::uint64_t bytes, Damage how) {
  const FileName name{path};
  Status done;
  switch (how) {
    case Damage::flip_first: done = store.corrupt(name, 0); break;
    case Damage::flip_after_header: done = store.corrupt(name, std::min(kParityHeaderBytes, bytes / 3)); break;
    case Damage::flip_middle: done = store.corrupt(name, bytes / 2); break;
    case Damage::flip_last: done = store.corrupt(name, bytes - 1); break;
    case Damage::truncate: done = store.truncate(name, bytes / 2); break;
    case Damage::remove: done = store.remove(name); break;
  }
  ASSERT_TRUE(done) << done.error().text();
}

// Every file of every node in turn, each damaged in every way, with `lost` gone besides.
void expect_every_single_damage_is_mended(HeadCluster& cluster, const Losses& lost) {
  for (std::uint32_t node = 0; node < cluster.layout().nodes; ++node) {
    if (lost.contains(node)) continue;
    for (const auto& [path, bytes] : cluster.image(node)) {
      for (const Damage how : kEveryDamage) {
        SCOPED_TRACE(testing::Message() << path << " on node " << node << ", damage " << static_cast<int>(how));
        cluster.put_back();
        cluster.lose(lost);
        damage(cluster.store(node), path, bytes.size(), how);
        const auto outcome = cluster.restore();
        ASSERT_FALSE(outcome.error) << outcome.error->text();
        ASSERT_EQ(cluster.wrong_ranks(), std::vector<std::uint32_t>{});
        const bool shard = names::parse_shard(path.substr(path.find('/') + 1)).has_value();
        ASSERT_TRUE(!shard || outcome.strikes.contains(Strike{StoreId::node(node), path}));
      }
    }
  }
}

TEST(Damage, of_any_one_file_is_mended_by_copies_or_parity) {
  HeadCluster cluster = damage_cluster({1, 2, 1, 1}, 1, 2);
  cluster.protect(level_set({kPartner, kErasure}));
  expect_every_single_damage_is_mended(cluster, {});
  expect_every_single_damage_is_mended(cluster, {1});
}

TEST(Damage, of_any_one_file_is_mended_by_parity_alone_even_with_a_node_lost) {
  HeadCluster cluster = damage_cluster({1, 2, 1, 1}, 0, 2);
  cluster.protect(level_set({kErasure}));
  expect_every_single_damage_is_mended(cluster, {});
  expect_every_single_damage_is_mended(cluster, {2});
}

TEST(Damage, of_any_one_file_is_mended_from_the_global_store) {
  HeadCluster cluster = damage_cluster({1, 2, 1}, 0, 1);
  cluster.protect(level_set({kGlobal}));
  expect_every_single_damage_is_mended(cluster, {});
  expect_every_single_damage_is_mended(cluster, {0, 1});
}

// What becomes of the only file that node 0 is sent.
void expect_sent(const HeadCluster::Outcome& outcome, std::uint32_t from, SymptomPort::Sent how) {
  ASSERT_EQ(outcome.sent.size(), 1U);
  EXPECT_EQ(outcome.sent[0].from, NodeId{from});
  EXPECT_EQ(outcome.sent[0].to, NodeId{0});
  EXPECT_EQ(outcome.sent[0].how, how);
}

// Node 0 is lost, and the one that has the copy of its shard sends damaged bytes.
TEST(Damage, of_a_copy_is_reported_by_the_node_that_gets_it) {
  HeadCluster cluster = damage_cluster({1, 2, 1, 1}, 1, 2);
  cluster.protect(level_set({kPartner, kErasure}));
  for (std::uint32_t node = 1; node < 4; ++node) {
    for (const auto& [path, bytes] : cluster.image(node)) {
      const auto copy = names::parse_copy(path.substr(path.find('/') + 1));
      if (!copy || copy->owner != NodeId{0}) continue;
      cluster.put_back();
      cluster.lose({0});
      damage(cluster.store(node), path, bytes.size(), Damage::flip_middle);
      const auto outcome = cluster.restore();
      ASSERT_FALSE(outcome.error) << outcome.error->text();
      ASSERT_EQ(outcome.symptoms.size(), 1U);
      EXPECT_EQ(outcome.symptoms[0].kind, SymptomKind::crc_mismatch);
      EXPECT_EQ(outcome.symptoms[0].suspect, (Suspect{NodeId{node}, std::nullopt}));
      EXPECT_EQ(outcome.symptoms[0].reporter, NodeId{0});
      EXPECT_EQ(outcome.symptoms[0].measure, 1);
      expect_sent(outcome, node, SymptomPort::Sent::damaged);
    }
  }
}

// A store whose copies are wrong when they are read for the first time, as if they were damaged on their way.
class WrongAtFirst : public HookedStore {
 public:
  explicit WrongAtFirst(std::shared_ptr<Store> store)
      : HookedStore(std::move(store), [](const Operation&) { return Status{}; }) {}
  Result<std::unique_ptr<Reader>> open(const FileName& name) const override {
    auto reader = HookedStore::open(name);
    const bool copy = names::parse_copy(name.path.substr(name.path.find('/') + 1)).has_value();
    if (!reader || !copy || !opened_.insert(name.path).second) return reader;
    return std::make_unique<WrongReader>(std::move(*reader));
  }

 private:
  class WrongReader : public Reader {
   public:
    explicit WrongReader(std::unique_ptr<Reader> right) : right_(std::move(right)) {}
    std::uint64_t size_bytes() const override { return right_->size_bytes(); }
    Bytes mapping() const override { return {}; }
    Status read(std::uint64_t offset, MutableBytes into) const override {
      return right_->read(offset, into).map([&] { into.back() ^= std::byte{1}; });
    }

   private:
    std::unique_ptr<Reader> right_;
  };
  mutable std::set<std::string> opened_;
};

TEST(Damage, on_the_way_is_told_from_damage_in_the_store) {
  HeadCluster cluster = damage_cluster({1, 2, 1, 1}, 1, 2);
  cluster.protect(level_set({kPartner, kErasure}));
  cluster.lose({0});
  cluster.seen = [](std::uint32_t, std::shared_ptr<Store> store) {
    return std::make_shared<WrongAtFirst>(std::move(store));
  };
  const auto outcome = cluster.restore();
  ASSERT_FALSE(outcome.error) << outcome.error->text();
  ASSERT_EQ(outcome.symptoms.size(), 1U);
  expect_sent(outcome, outcome.symptoms[0].suspect.node.value, SymptomPort::Sent::refused);
}

TEST(Damage, of_no_file_is_reported_by_nobody) {
  HeadCluster cluster = damage_cluster({1, 2, 1, 1}, 1, 2);
  cluster.protect(level_set({kPartner, kErasure}));
  cluster.lose({0});
  const auto outcome = cluster.restore();
  EXPECT_TRUE(outcome.symptoms.empty());
  ASSERT_FALSE(outcome.sent.empty());
  expect_sent(outcome, outcome.sent[0].from.value, SymptomPort::Sent::whole);
}

// One parity of three, and a node lost: all that is left is needed.
TEST(Damage, beyond_redundancy_is_refused_and_never_returned) {
  HeadCluster cluster = damage_cluster({2, 1, 1}, 0, 1);
  cluster.protect(level_set({kErasure}));
  for (std::uint32_t node = 1; node < 3; ++node) {
    for (const auto& [path, bytes] : cluster.image(node)) {
      for (const Damage how : kEveryDamage) {
        SCOPED_TRACE(testing::Message() << path << " on node " << node << ", damage " << static_cast<int>(how));
        cluster.put_back();
        cluster.lose({0});
        damage(cluster.store(node), path, bytes.size(), how);
        const auto outcome = cluster.restore();
        // Of parity, neither its header nor what lies beyond the volume of node 0 is needed.
        const bool needed = !names::parse_parity(path.substr(path.find('/') + 1)) || how == Damage::flip_after_header ||
                            how == Damage::truncate || how == Damage::remove;
        if (needed || outcome.error) {
          ASSERT_TRUE(outcome.error);
          EXPECT_EQ(outcome.error->code, Code::unrecoverable) << outcome.error->text();
          EXPECT_THAT(outcome.error, Fails(Code::unrecoverable, {"version 42"}));
        } else {
          EXPECT_EQ(cluster.wrong_ranks(), std::vector<std::uint32_t>{});
        }
      }
    }
  }
}

TEST(Damage, of_a_shard_and_of_all_its_copies_is_refused_with_the_rank_named) {
  HeadCluster cluster = damage_cluster({1, 2, 1, 1}, 2, 1);
  cluster.protect(level_set({kPartner}));
  const Rank rank{2};
  const LayoutId layout = cluster.layout().id();
  const auto flip = [&](std::uint32_t node, const FileName& name) {
    ASSERT_TRUE(cluster.store(node).corrupt(name, kShardHeaderBytes + 4200));
  };
  flip(1, names::shard(cluster.dir(), rank));
  flip(2, names::copy(cluster.dir(), {NodeId{1}, rank, layout}));
  flip(3, names::copy(cluster.dir(), {NodeId{1}, rank, layout}));
  const auto outcome = cluster.restore();
  ASSERT_TRUE(outcome.error);
  EXPECT_EQ(outcome.error->code, Code::unrecoverable);
  EXPECT_THAT(outcome.error, Fails(Code::unrecoverable, {"version 42", "rank 2"}));
}

// A manifest with one bit changed may still read as one: sizes, digests, places that were never there.
void expect_damaged_manifest_to_cost_its_node(HeadCluster& cluster) {
  const FileName manifest = names::manifest(cluster.dir());
  const Buffer good = cluster.image(1).at(manifest.path);
  for (std::uint64_t offset = 0; offset < good.size(); offset += 5) {
    const std::uint64_t from = offset < 30 ? 0 : offset - 30;
    SCOPED_TRACE(testing::Message() << "byte " << offset << " of ... "
                                    << text_of(Bytes(good).subspan(from, offset - from + 1)));
    cluster.put_back();
    cluster.lose({0});
    const std::byte wrong = good[offset] ^ std::byte{1};
    ASSERT_TRUE(cluster.store(1).patch(manifest, offset, Bytes(&wrong, 1)));
    const auto outcome = cluster.restore();
    ASSERT_FALSE(outcome.error) << outcome.error->text();
    ASSERT_EQ(cluster.wrong_ranks(), std::vector<std::uint32_t>{});
  }
}

TEST(Damage, of_any_byte_of_a_manifest_costs_no_more_than_the_copies_of_its_node) {
  HeadCluster cluster = damage_cluster({1, 2, 1, 1}, 2, 1);
  cluster.protect(level_set({kPartner}));
  expect_damaged_manifest_to_cost_its_node(cluster);
}

TEST(Damage, of_any_byte_of_a_manifest_costs_no_more_than_the_parity_of_its_node) {
  HeadCluster cluster = damage_cluster({1, 2, 1, 1}, 0, 2);
  cluster.protect(level_set({kErasure}));
  expect_damaged_manifest_to_cost_its_node(cluster);
}

// With all nodes lost, nothing but the global store is left: its bytes come back right, or not at all.
TEST(Damage, of_the_global_store_is_found_wherever_it_is) {
  HeadCluster cluster = damage_cluster({1, 2}, 0, 1);
  cluster.protect(level_set({kGlobal}));
  std::uint32_t refused = 0;
  const auto entries = cluster.global().list(cluster.dir());
  ASSERT_TRUE(entries);
  for (const Entry& entry : *entries) {
    const FileName name{cluster.dir().path + "/" + entry.name};
    for (std::uint64_t offset = 0; offset < entry.size_bytes; offset += 1 + entry.size_bytes / 150) {
      SCOPED_TRACE(testing::Message() << "byte " << offset << " of " << name.path);
      cluster.put_back();
      cluster.lose({0, 1});
      ASSERT_TRUE(cluster.global().corrupt(name, offset));
      const auto outcome = cluster.restore();
      refused += outcome.error ? 1 : 0;
      ASSERT_TRUE(outcome.error || cluster.wrong_ranks().empty());
    }
  }
  EXPECT_GT(refused, 0U);
}

TEST(Damage, of_a_file_of_the_global_store_leaves_other_levels_alone) {
  HeadCluster cluster = damage_cluster({1, 2, 1}, 1, 1);
  cluster.protect(level_set({kPartner, kGlobal}));
  const auto entries = cluster.global().list(cluster.dir());
  ASSERT_TRUE(entries);
  for (const Entry& entry : *entries) {
    const FileName name{cluster.dir().path + "/" + entry.name};
    for (const Damage how : kEveryDamage) {
      SCOPED_TRACE(testing::Message() << name.path << ", damage " << static_cast<int>(how));
      cluster.put_back();
      cluster.lose({2});
      damage(cluster.global(), name.path, entry.size_bytes, how);
      const auto outcome = cluster.restore();
      ASSERT_FALSE(outcome.error) << outcome.error->text();
      ASSERT_EQ(cluster.wrong_ranks(), std::vector<std::uint32_t>{});
    }
  }
}

}  // namespace
}  // namespace cairn::test
