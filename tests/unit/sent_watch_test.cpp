// What a head knows of the files that it has sent to others.
#include "engine/sent_watch.hpp"

#include <gtest/gtest.h>

namespace cairn::test {
namespace {

using Sent = SymptomPort::Sent;
using std::chrono::seconds;

struct SentFiles : testing::Test {
  [[nodiscard]] localize::NodeLog log(SentWatch::Time now = seconds(1)) const {
    localize::NodeLog log;
    watch.fill(log, now);
    return log;
  }
  [[nodiscard]] double damaged(SentWatch::Time now = seconds(1)) const {
    localize::NodeState state;
    watch.fill(state, now);
    return state.store_damaged;
  }
  SentWatch watch;
};

TEST_F(SentFiles, that_are_refused_though_they_are_whole_here_are_the_paths) {
  for (const Sent how : {Sent::whole, Sent::refused, Sent::whole, Sent::refused})
    watch.note(NodeId{3}, how, seconds(1));
  watch.note(NodeId{4}, Sent::whole, seconds(1));
  EXPECT_EQ(log().bad_peers, 1U);
  EXPECT_EQ(log().bad_share, 0.5);
  EXPECT_EQ(damaged(), 0);
}

TEST_F(SentFiles, that_are_damaged_here_are_the_stores) {
  watch.note(NodeId{3}, Sent::damaged, seconds(1));
  watch.note(NodeId{4}, Sent::damaged, seconds(1));
  EXPECT_EQ(damaged(), 2);
  EXPECT_EQ(log().bad_peers, 0U);
}

TEST_F(SentFiles, count_for_a_while) {
  watch.note(NodeId{3}, Sent::damaged, seconds(1));
  watch.note(NodeId{3}, Sent::refused, seconds(1));
  EXPECT_EQ(damaged(seconds(1) + SentWatch::kCounts), 0);
  EXPECT_EQ(log(seconds(1) + SentWatch::kCounts).bad_peers, 0U);
}

TEST_F(SentFiles, are_so_many_at_most) {
  for (std::size_t i = 0; i < 2 * SentWatch::kMostFiles; ++i) watch.note(NodeId{3}, Sent::damaged, seconds(1));
  EXPECT_EQ(damaged(), static_cast<double>(SentWatch::kMostFiles));
}

}  // namespace
}  // namespace cairn::test
