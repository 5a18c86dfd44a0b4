// The theorem of Bondarenko and Yakobovskiy (2014): of the last SD snapshots at L2, placed in turn on more than
// DF^SD + SD nodes, any (DF − 1)·SD + 1 lost nodes leave at least one whole.
#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

#include "recover/plan.hpp"
#include "support/head_cluster.hpp"
#include "topology/placement.hpp"

namespace cairn::test {
namespace {

struct Setting {
  std::uint32_t copies;    // DF
  std::uint32_t rotation;  // SD
  std::uint32_t nodes;
  [[nodiscard]] std::uint32_t losses() const { return (copies - 1) * rotation + 1; }
};

// Every setting with DF, SD ≤ 3 where the theorem holds, on the first few numbers of nodes.
std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (std::uint32_t copies = 1; copies <= 3; ++copies) {
    for (std::uint32_t rotation = 1; rotation <= 3; ++rotation) {
      const auto bound = static_cast<std::uint32_t>(sufficient_nodes(copies, rotation));
      const std::uint32_t more = bound > 20 ? 1 : 4;
      for (std::uint32_t nodes = bound + 1; nodes <= bound + more; ++nodes) all.push_back({copies, rotation, nodes});
    }
  }
  return all;
}

Layout layout_for(const Setting& setting) {
  Layout layout = layout_of_ranks(std::vector<std::uint32_t>(setting.nodes, 1));
  layout.copies = setting.copies;
  layout.rotation = setting.rotation;
  return layout;
}

// The last SD snapshots, versions 1 … SD in placements `first` … first + SD − 1, as the stores that are left have them.
Inventory stores_after(const Setting& setting, const Layout& layout, std::uint32_t first, std::uint64_t lost) {
  Inventory inventory;
  inventory.by_head.resize(setting.nodes);
  inventory.layouts[layout.id()] = layout;
  for (std::uint32_t i = 0; i < setting.rotation; ++i) {
    const Identity snapshot{{1}, {i + 1}, {77}};
    for (std::uint32_t node = 0; node < setting.nodes; ++node) {
      if ((lost >> node & 1U) != 0) continue;
      inventory.by_head[node].push_back(
          {snapshot, layout.id(), NodeId{node}, {LevelId::local, LevelId::partner}, (first + i) % setting.rotation});
    }
  }
  return inventory;
}

// For each placement, a set of nodes for each owner: those that hold its shards, itself included.
std::vector<std::vector<std::uint64_t>> holders(const Setting& setting, const Layout& layout) {
  std::vector<std::vector<std::uint64_t>> sets(setting.rotation);
  for (std::uint32_t turn = 0; turn < setting.rotation; ++turn) {
    for (std::uint32_t node = 0; node < setting.nodes; ++node) {
      std::uint64_t set = 1ULL << node;
      for (const NodeId partner : partners_of(layout, NodeId{node}, turn)) set |= 1ULL << partner.value;
      sets[turn].push_back(set);
    }
  }
  return sets;
}

bool whole(const std::vector<std::uint64_t>& sets, std::uint64_t lost) {
  for (std::uint64_t rest = lost; rest != 0; rest &= rest - 1) {
    if ((sets[static_cast<std::size_t>(std::countr_zero(rest))] & ~lost) == 0) return false;
  }
  return true;
}

// The next larger number with as many bits.
std::uint64_t next_subset(std::uint64_t bits) {
  const std::uint64_t lowest = bits & -bits;
  const std::uint64_t ripple = bits + lowest;
  return ripple | (((bits ^ ripple) >> 2U) / lowest);
}

TEST(RotationTheorem, some_kept_snapshot_survives_every_loss_that_it_names) {
  for (const Setting& setting : settings()) {
    const Layout layout = layout_for(setting);
    const auto sets = holders(setting, layout);
    for (std::uint64_t lost = (1ULL << setting.losses()) - 1; lost < 1ULL << setting.nodes; lost = next_subset(lost)) {
      const bool any = std::ranges::any_of(sets, [&](const auto& turn) { return whole(turn, lost); });
      ASSERT_TRUE(any) << setting.copies << " copies, rotation " << setting.rotation << ", " << setting.nodes
                       << " nodes, lost " << std::hex << lost;
    }
  }
}

TEST(RotationTheorem, the_plan_finds_the_newest_of_them) {
  for (const Setting& setting : settings()) {
    const Layout layout = layout_for(setting);
    const auto sets = holders(setting, layout);
    std::uint64_t count = 0;
    for (std::uint64_t lost = (1ULL << setting.losses()) - 1; lost < 1ULL << setting.nodes; lost = next_subset(lost)) {
      if (setting.nodes > 20 && ++count % 20'011 != 1) continue;  // the largest: a sample
      const auto first = static_cast<std::uint32_t>(lost % setting.rotation);
      std::uint32_t newest = setting.rotation;
      while (newest > 0 && !whole(sets[(first + newest - 1) % setting.rotation], lost)) --newest;
      const Inventory inventory = stores_after(setting, layout, first, lost);
      const auto plan = make_plan({inventory, layout, Incarnation{}, {}, {}, {}});
      ASSERT_TRUE(plan) << plan.error().text();
      ASSERT_EQ(plan->snapshot.version.value, newest) << std::hex << lost;
    }
  }
}

// One loss more can be too much: the bound is not a formality.
TEST(RotationTheorem, one_loss_more_can_take_all_of_them) {
  const Setting setting{2, 2, 7};
  const Layout layout = layout_for(setting);
  const auto sets = holders(setting, layout);
  std::uint32_t refused = 0;
  for (std::uint64_t lost = (1ULL << (setting.losses() + 1)) - 1; lost < 1ULL << setting.nodes;
       lost = next_subset(lost)) {
    const Inventory inventory = stores_after(setting, layout, 0, lost);
    const auto plan = make_plan({inventory, layout, Incarnation{}, {}, {}, {}});
    const bool any = std::ranges::any_of(sets, [&](const auto& turn) { return whole(turn, lost); });
    ASSERT_EQ(plan.has_value(), any);
    if (plan) continue;
    ++refused;
    EXPECT_EQ(plan.error().code, Code::unrecoverable);
  }
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace cairn::test
