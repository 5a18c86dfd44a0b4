// What grows with the job, and what must not: counted, never timed.
#include <gtest/gtest.h>

#include "support/scaling.hpp"

namespace cairn::test {
namespace {

constexpr LevelId kOnNodes[] = {LevelId::local, LevelId::partner, LevelId::erasure};

TEST(Scaling, an_application_rank_sends_one_message_a_snapshot_however_many_there_are) {
  for (const LevelId level : kOnNodes) {
    for (const JobShape& shape : {JobShape{8, 2}, {8, 8}, {32, 2}}) {
      SCOPED_TRACE(testing::Message() << shape.ranks() << " ranks, L" << static_cast<int>(level));
      const Traffic rank = count_snapshot(shape, level).rank;
      EXPECT_EQ(rank.messages, 1U) << "the seal";
      EXPECT_EQ(rank.collectives, 0U);
      EXPECT_EQ(rank.received, level == LevelId::local ? 2U : 3U) << "safe at each level, an older one retired";
      EXPECT_LE(rank.message_bytes + rank.received_bytes, 128U);
    }
  }
}

// What is left to grow is what a reduction costs: a tree, log2 N.
TEST(Scaling, a_head_sends_receives_and_reduces_the_same_however_many_there_are) {
  for (const LevelId level : kOnNodes) {
    const Traffic few = count_snapshot({8, 2}, level).head;  // one full group
    for (const std::uint32_t nodes : {16U, 32U}) {
      SCOPED_TRACE(testing::Message() << nodes << " nodes, L" << static_cast<int>(level));
      const Traffic head = count_snapshot({nodes, 2}, level).head;
      EXPECT_EQ(head.messages, few.messages);
      EXPECT_EQ(head.received, few.received);
      EXPECT_EQ(head.collectives, few.collectives);
      EXPECT_EQ(head.collective_bytes, few.collective_bytes);
      EXPECT_EQ(head.gathered_bytes, 0U) << "nothing is gathered";
    }
  }
}

TEST(Scaling, a_restore_asks_the_same_of_an_application_rank_however_many_there_are) {
  const Traffic few = count_restore({8, 2}, 1).rank;
  EXPECT_EQ(few.messages, 2U) << "the request and the result";
  EXPECT_EQ(few.collectives, 1U) << "whether any rank has other parts of arrays than in the snapshot";
  for (const JobShape& shape : {JobShape{8, 8}, {32, 2}}) {
    const Traffic rank = count_restore(shape, 1).rank;
    EXPECT_EQ(rank.messages, few.messages);
    EXPECT_EQ(rank.received, few.received);
    EXPECT_EQ(rank.collectives, few.collectives);
    EXPECT_EQ(rank.collective_bytes, few.collective_bytes);
    EXPECT_EQ(rank.gathered_bytes, 0U);
  }
}

TEST(Scaling, an_inventory_takes_at_most_64_bytes_a_node_however_many_snapshots_are_kept) {
  for (const std::uint32_t nodes : {4U, 16U, 64U}) {
    for (const std::uint32_t snapshots : {1U, 10U, 50U, 100U}) {
      SCOPED_TRACE(testing::Message() << nodes << " nodes, " << snapshots << " snapshots");
      const InventoryCount count = count_inventory(nodes, snapshots);
      EXPECT_LE(count.bytes_given, 64U);
      EXPECT_EQ(count.messages, 0U);
      EXPECT_EQ(count.collectives, 4U) << "whose list is longest, that list, the differences, the strikes";
      EXPECT_LE(count.bytes_given_by_one, 64U + 28 * snapshots);
    }
  }
}

}  // namespace
}  // namespace cairn::test
