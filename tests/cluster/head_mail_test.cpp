// Heads that have settled their mail: nothing is on its way to them, whatever was sent, by whom, and when.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/head_mail.hpp"
#include "engine/messages.hpp"
#include "support/thread_cluster.hpp"

namespace cairn::test {
namespace {

constexpr std::uint32_t kNodes = 5;

struct Mail {
  explicit Mail(Comm& world)
      : topology(*make_topology(std::vector<std::string>(2 * kNodes, "host"), {2}, HeadMode::rank)),
        is_head(topology.is_dedicated_head(world.rank())),
        heads(*world.split(is_head ? std::optional(0U) : std::nullopt, 0)),
        me(topology.node_of_world[world.rank().value].value),
        text("from node " + std::to_string(me)),
        mail(world, topology) {}

  Topology topology;
  bool is_head;
  std::unique_ptr<Comm> heads;  // null: a rank
  std::uint32_t me;             // the node
  std::string text;             // that says so
  HeadMail mail;
};

void expect_nothing(Comm& world) {
  for (const Tag tag : {kToHead, kToFaultDesk, kHeartbeat}) {
    const auto found = world.probe(tag);
    ASSERT_TRUE(found);
    EXPECT_FALSE(*found) << "tag " << tag.value << " from " << (**found).source.value;
  }
}

TEST(HeadMail, that_is_settled_leaves_nothing_under_way) {
  run_cluster(2 * kNodes, [](Comm& world) {
    Mail all(world);
    if (!all.is_head) return;
    std::vector<std::unique_ptr<Request>> sent;
    for (std::uint32_t to = 0; to < kNodes; ++to) {
      if (to == all.me) continue;
      for (std::uint32_t i = 0; i < 3 * all.me + to; ++i)
        sent.push_back(all.mail.isend(NodeId{to}, i % 2 == 0 ? kHeartbeat : kToFaultDesk, bytes_of(all.text)));
    }
    ASSERT_TRUE(all.mail.settle(*all.heads));
    for (const auto& one : sent) EXPECT_TRUE(one->test().value_or(false));
    ASSERT_TRUE(all.heads->barrier());
    expect_nothing(world);
  });
}

TEST(HeadMail, that_was_read_before_is_not_waited_for) {
  run_cluster(2 * kNodes, [](Comm& world) {
    Mail all(world);
    if (!all.is_head) return;
    const auto sent = all.mail.isend(NodeId{(all.me + 1) % kNodes}, kToHead, bytes_of(all.text));
    while (true) {
      const auto letter = all.mail.receive(kToHead);
      ASSERT_TRUE(letter);
      if (!*letter) continue;
      const std::uint32_t from = (all.me + kNodes - 1) % kNodes;
      EXPECT_EQ((*letter)->from, all.topology.nodes[from].head);
      EXPECT_EQ(text_of((*letter)->bytes), "from node " + std::to_string(from));
      break;
    }
    ASSERT_TRUE(all.mail.settle(*all.heads));
  });
}

// A rank's messages reach its head with the same tag.
TEST(HeadMail, of_ranks_does_not_count) {
  run_cluster(2 * kNodes, [](Comm& world) {
    Mail all(world);
    if (!all.is_head) {
      ASSERT_TRUE(world.send(all.topology.nodes[all.me].head, kToHead, bytes_of(all.text)));
      return;
    }
    const auto sent = all.mail.isend(NodeId{(all.me + 1) % kNodes}, kHeartbeat, bytes_of(all.text));
    for (auto letter = all.mail.receive(kToHead);; letter = all.mail.receive(kToHead)) {
      ASSERT_TRUE(letter);
      if (*letter) break;
    }
    ASSERT_TRUE(all.mail.settle(*all.heads));
    expect_nothing(world);
  });
}

}  // namespace
}  // namespace cairn::test
