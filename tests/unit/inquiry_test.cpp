// Heads that find out for whom ranks wait, with a clock and ways of the test's own.
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/inquiry.hpp"
#include "support/facts.hpp"

namespace cairn {
namespace {

using std::chrono::seconds;
using test::Names;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// Nodes of two ranks each. Messages between heads arrive when the test says so; `deaf` heads get none.
class Heads {
 public:
  explicit Heads(std::uint32_t nodes, HeadMode mode = HeadMode::rank, bool records_calls = false)
      : topology_(
            *make_topology(std::vector<std::string>(std::size_t{nodes} * (mode == HeadMode::rank ? 3 : 2), "host"),
                           {mode == HeadMode::rank ? 3U : 2U}, mode)) {
    for (std::uint32_t node = 0; node < nodes; ++node) {
      heads_.push_back(std::make_unique<Inquiry>(
          topology_, NodeId{node},
          Inquiry::Ways{[this, node](NodeId to, const ToHead& message) {
                          post_.push_back({NodeId{node}, to, message});
                        },
                        [this](Rank rank, const ToRank& message) { take(rank, message); }, [this] { return heads_do; },
                        [this](const std::string& line) { lines.push_back(line); }, records_calls}));
    }
  }

  // As a rank that has waited for ten seconds.
  void says_that_it_waits(std::uint32_t rank) {
    waiting.insert(rank);
    head_of(rank).receive(Rank{rank}, Waits{"finalize()", 10, false}, now);
    deliver();
  }
  void pass(seconds time) {
    now += time;
    for (std::uint32_t node = 0; node < heads_.size(); ++node) {
      if (!deaf.contains(node)) heads_[node]->look(now);
    }
    deliver();
  }

  std::set<std::uint32_t> waiting;  // ranks in a Cairn call
  std::set<std::uint32_t> deaf;     // nodes
  std::string heads_do;
  std::vector<std::string> lines;
  std::map<std::uint32_t, std::string> told;  // ranks, for whom they wait
  std::chrono::microseconds now{seconds(100)};

 private:
  struct Letter {
    NodeId from;
    NodeId to;
    ToHead message;
  };

  Inquiry& head_of(std::uint32_t rank) { return *heads_.at(rank / 2); }

  void take(Rank rank, const ToRank& message) {
    if (!waiting.contains(rank.value)) return;
    if (std::holds_alternative<Ask>(message)) asked_.push_back(rank);
    if (const auto* missing = std::get_if<Missing>(&message)) told[rank.value] = missing->text;
  }
  void deliver() {
    while (!post_.empty() || !asked_.empty()) {
      for (const Rank rank : std::exchange(asked_, {}))
        head_of(rank.value).receive(rank, Waits{"finalize()", 1, true}, now);
      if (post_.empty()) continue;
      const Letter letter = post_.front();
      post_.pop_front();
      if (deaf.contains(letter.to.value)) continue;
      Inquiry& head = *heads_.at(letter.to.value);
      if (const auto* question = std::get_if<Inquire>(&letter.message)) head.receive(letter.from, *question, now);
      if (const auto* ask = std::get_if<Ask>(&letter.message)) head.receive(*ask, now);
      if (const auto* answer = std::get_if<NotHere>(&letter.message)) head.receive(letter.from, *answer);
      if (const auto* missing = std::get_if<Missing>(&letter.message)) head.receive(*missing);
    }
  }

  Topology topology_;
  std::vector<std::unique_ptr<Inquiry>> heads_;
  std::deque<Letter> post_;
  std::vector<Rank> asked_;
};

TEST(Inquiry, names_just_the_ranks_that_are_in_no_call_and_tells_those_that_wait) {
  Heads heads(3);
  heads.waiting = {0, 1, 2, 5};
  heads.says_that_it_waits(2);
  heads.pass(Inquiry::kForRanks);
  heads.pass(Inquiry::kForRanks);
  EXPECT_THAT(heads.lines,
              ElementsAre(Names({"rank 2", "10 s", "finalize()", "rank 3", "node 1", "rank 4", "node 2"})));
  EXPECT_EQ(heads.told.size(), 4U);
  for (const auto& [rank, text] : heads.told) {
    EXPECT_THAT(text, Names({"rank 3", "node 1", "rank 4", "node 2"})) << "rank " << rank;
    for (const char* there : {"rank 0", "rank 1", "rank 2", "rank 5"}) EXPECT_THAT(text, Not(Names({there})));
  }
}

TEST(Inquiry, names_the_tool_that_shows_more_where_calls_are_recorded) {
  for (const bool records : {false, true}) {
    Heads heads(2, HeadMode::rank, records);
    heads.says_that_it_waits(0);
    for (int i = 0; i < 10; ++i) heads.pass(seconds(1));
    ASSERT_EQ(heads.lines.size(), 1U);
    EXPECT_EQ(test::has_thing(heads.lines.front(), "ckpt-tool hang"), records) << heads.lines.front();
    EXPECT_FALSE(test::has_thing(heads.told[0], "ckpt-tool hang")) << "the log has it";
  }
}

TEST(Inquiry, says_what_the_heads_do_where_every_rank_is_in_a_call) {
  Heads heads(2);
  heads.waiting = {0, 1, 2, 3};
  heads.heads_do = "version 8 is being promoted to higher levels";
  heads.says_that_it_waits(0);
  heads.pass(seconds(0));
  heads.pass(seconds(0));
  EXPECT_THAT(heads.lines, ElementsAre(Names({"version 8"})));
}

TEST(Inquiry, speaks_once_a_minute_at_most_whoever_asks) {
  Heads heads(2);
  heads.says_that_it_waits(0);
  heads.says_that_it_waits(3);
  for (int i = 0; i < 10; ++i) heads.pass(seconds(1));
  heads.says_that_it_waits(2);
  for (int i = 0; i < 10; ++i) heads.pass(seconds(1));
  EXPECT_EQ(heads.lines.size(), 1U);
  heads.pass(Inquiry::kBetweenTwo);
  heads.says_that_it_waits(2);
  for (int i = 0; i < 10; ++i) heads.pass(seconds(1));
  EXPECT_EQ(heads.lines.size(), 2U);
}

TEST(Inquiry, names_a_head_that_does_not_answer) {
  Heads heads(3);
  heads.deaf = {1};
  heads.waiting = {0, 1, 4, 5};
  heads.says_that_it_waits(0);
  for (int i = 0; i < 5; ++i) heads.pass(seconds(1));
  EXPECT_THAT(heads.lines, ElementsAre(Names({"node 1"})));
}

TEST(Inquiry, names_the_rank_where_a_rank_is_the_head_that_does_not_answer) {
  Heads heads(3, HeadMode::inline_);
  heads.deaf = {2};
  heads.waiting = {0, 1, 2, 3};
  heads.says_that_it_waits(3);
  for (int i = 0; i < 5; ++i) heads.pass(seconds(1));
  EXPECT_THAT(heads.lines, ElementsAre(Names({"rank 4", "node 2"})));
}

TEST(Inquiry, is_made_by_the_first_head_that_answers_where_head_0_does_not) {
  Heads heads(4, HeadMode::inline_);
  heads.deaf = {0, 1};
  heads.waiting = {4, 5, 6, 7};
  heads.says_that_it_waits(6);
  heads.says_that_it_waits(4);
  for (int i = 0; i < 20; ++i) heads.pass(seconds(1));
  EXPECT_THAT(heads.lines, ElementsAre(Names({"rank 4", "rank 0", "node 0", "rank 2", "node 1"})));
  EXPECT_THAT(heads.told, testing::SizeIs(4));
}

TEST(Inquiry, says_nothing_where_nobody_waits_for_long) {
  Heads heads(2);
  heads.waiting = {0, 1, 2, 3};
  for (int i = 0; i < 100; ++i) heads.pass(seconds(1));
  EXPECT_THAT(heads.lines, IsEmpty());
}

}  // namespace
}  // namespace cairn
