// Levels together survive more than each alone: a lost node's volume may be read from its copies to decode another's.
// The judge says what must come back; not less, and nothing else.
#include <gtest/gtest.h>

#include "format/shard_header.hpp"
#include "support/head_cluster.hpp"
#include "topology/placement.hpp"

namespace cairn::test {
namespace {

HeadCluster mixed_cluster(std::vector<std::uint32_t> ranks, std::uint32_t copies, std::uint32_t group,
                          std::uint32_t parity) {
  Layout layout = layout_of_ranks(ranks);
  layout.copies = copies;
  layout.rotation = copies == 1 ? 2 : 1;  // more copies in turns need more nodes than there are here
  layout.groups = make_groups(layout.nodes, group, parity, {});
  layout.parity = parity;
  return HeadCluster(layout, [](std::uint32_t rank) { return rank * 131 % 400; });
}

constexpr std::initializer_list<LevelId> kPartnerAndErasure = {LevelId::partner, LevelId::erasure};

TEST(MixedLevels, copies_and_parity_together_bring_back_all_that_they_can) {
  HeadCluster six = mixed_cluster({2, 1, 3, 1, 2, 1}, 1, 6, 2);
  six.protect(level_set(kPartnerAndErasure));
  expect_all_that_can_survive(six);
  HeadCluster two_groups = mixed_cluster({1, 1, 2, 1, 3, 1}, 1, 3, 1);
  two_groups.protect(level_set(kPartnerAndErasure), 1);
  expect_all_that_can_survive(two_groups);
  HeadCluster five = mixed_cluster({1, 2, 1, 1, 2}, 2, 5, 1);
  five.protect(level_set(kPartnerAndErasure));
  expect_all_that_can_survive(five);
}

// Nodes 0 and 1 share a ring of copies: node 0 has its copy on 1. Both lost, and 3 too: L2 loses node 0, L3 with one
// parity loses three; together only the volume of node 0 is missing, and its columns can be decoded.
TEST(MixedLevels, a_copy_stands_in_for_a_lost_member_of_the_group) {
  HeadCluster cluster = mixed_cluster({1, 1, 1, 1, 1, 1}, 1, 6, 3);
  cluster.protect(level_set(kPartnerAndErasure));
  std::uint32_t beyond_both = 0;
  for (std::uint32_t bits = 0; bits < 64; ++bits) {
    const Losses lost = losses_of(bits);
    const auto gone_at = [&](std::initializer_list<LevelId> levels) {
      return !ranks_beyond_rescue(cluster.layout(), level_set(levels), 0, lost).empty();
    };
    if (!gone_at({LevelId::partner}) || !gone_at({LevelId::erasure}) || gone_at(kPartnerAndErasure)) continue;
    ++beyond_both;
    expect_outcome_of(cluster, lost);
  }
  EXPECT_GT(beyond_both, 0U);
}

TEST(MixedLevels, the_global_store_gives_what_parity_cannot) {
  HeadCluster cluster = mixed_cluster({1, 2, 1, 2}, 1, 4, 1);
  cluster.protect(level_set({LevelId::erasure, LevelId::global}));
  expect_all_that_can_survive(cluster);
}

TEST(MixedLevels, the_cheapest_source_is_taken_for_each_rank) {
  HeadCluster cluster = mixed_cluster({1, 1, 1, 1, 1, 1}, 1, 3, 1);
  cluster.protect(level_set({LevelId::partner, LevelId::erasure, LevelId::global}));
  // Node 0's copy is on 1, which is lost too; node 1's is on 2. Their group of three can only lose one.
  cluster.lose({0, 1});
  const auto outcome = cluster.restore();
  ASSERT_FALSE(outcome.error) << outcome.error->text();
  EXPECT_EQ(cluster.wrong_ranks(), std::vector<std::uint32_t>{});
  std::vector<LevelId> levels;
  for (const Delivery& delivery : outcome.plan.deliveries) levels.push_back(delivery.level);
  EXPECT_EQ(levels[1], LevelId::partner);
  EXPECT_TRUE(levels[0] == LevelId::erasure || levels[0] == LevelId::global);
  for (const std::uint32_t rank : {2, 3, 4, 5}) EXPECT_EQ(levels[rank], LevelId::local);
}

TEST(MixedLevels, hints_right_wrong_or_stale_never_change_what_comes_back) {
  HeadCluster cluster = mixed_cluster({1, 2, 1, 1}, 1, 4, 2);
  cluster.protect(level_set({LevelId::partner, LevelId::erasure, LevelId::global}));
  for (std::uint32_t bits = 0; bits < 16; ++bits) {
    const Losses lost = losses_of(bits);
    for (const std::vector<std::uint32_t>& hint :
         {std::vector<std::uint32_t>(lost.begin(), lost.end()), {0}, {3, 2}, {0, 1, 2, 3}, {17, 99}}) {
      expect_outcome_of(cluster, lost, hint);
      ASSERT_FALSE(HasFailure()) << "hint of " << hint.size() << " nodes";
    }
  }
}

TEST(MixedLevels, come_back_the_same_when_every_level_is_tried_in_turn) {
  const std::vector<LevelSet> kinds = {level_set({LevelId::partner, LevelId::erasure, LevelId::global}),
                                       level_set(kPartnerAndErasure), level_set({LevelId::erasure})};
  for (const LevelSet levels : kinds) {
    HeadCluster cluster = mixed_cluster({1, 2, 1, 1}, 1, 4, 1);
    cluster.protect(levels);
    cluster.level_by_level = true;
    expect_all_that_can_survive(cluster);
  }
}

// So it is passed over where every level is tried in turn.
TEST(MixedLevels, with_a_damaged_header_or_region_table_does_not_look_whole) {
  HeadCluster cluster = mixed_cluster({1, 2, 1, 1}, 1, 4, 1);
  cluster.protect(level_set(kPartnerAndErasure));
  const FileName shard = names::shard(cluster.dir(), Rank{2});
  for (const std::uint64_t at : {std::uint64_t{100}, kShardHeaderBytes + 3}) {
    cluster.put_back();
    EXPECT_TRUE(cluster.looks_whole(LevelId::local, 1));
    ASSERT_TRUE(cluster.store(1).corrupt(shard, at));
    EXPECT_FALSE(cluster.looks_whole(LevelId::local, 1)) << "byte " << at;
  }
}

TEST(MixedLevels, hints_never_save_what_cannot_be_saved_or_lose_what_can) {
  HeadCluster cluster = mixed_cluster({1, 1, 1, 1}, 1, 4, 1);
  cluster.protect(level_set(kPartnerAndErasure));
  for (std::uint32_t bits = 0; bits < 16; ++bits) {
    for (std::uint32_t hint = 0; hint < 16; ++hint) {
      const Losses hinted = losses_of(hint);
      expect_outcome_of(cluster, losses_of(bits), {hinted.begin(), hinted.end()});
    }
  }
}

}  // namespace
}  // namespace cairn::test
