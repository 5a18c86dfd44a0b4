// Ranks, heads and replacements of a job of threads die at each of their operations. Survivors stay in their calls;
// only the lost ranks roll back, and all come to the results of a run in which nobody dies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stay_job.hpp"

namespace cairn::test {
namespace {

using Process = StayPool::Process;

constexpr const char* kEveryCall = "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n";

constexpr const char* kEveryThird = "[levels]\nl1 = every 3\nl2 = off\nl3 = off\nl4 = off\n";

// Of a round in which ranks receive from any rank.
bool is_in_any_round(const Operation& operation) {
  constexpr std::int32_t kFirstTag = 100;
  return operation.tag >= kFirstTag;
}

// A program that is drawn from a seed, and what it computes when nobody dies.
class Case {
 public:
  enum class Receives { from_any, from_named };
  Case(std::uint64_t seed, StaySetting setting, Receives receives = Receives::from_any) : setting_(std::move(setting)) {
    setting_.seed = seed;
    std::mt19937_64 random(seed);
    const std::uint32_t ranks = setting_.nodes * setting_.ranks_per_node;
    const bool is_named = receives == Receives::from_named;
    program_ = draw_program(random, ranks, setting_.rounds + static_cast<std::uint32_t>(random() % 4), true);
    for (auto& rank : program_) std::erase_if(rank, [&](const auto& one) { return is_named && is_in_any_round(one); });
    undisturbed_ = StayJob(program_, setting_).run({});
    EXPECT_EQ(undisturbed_.fault, "") << "seed " << seed;
    EXPECT_EQ(undisturbed_.results.size(), ranks) << "seed " << seed;
    EXPECT_EQ(undisturbed_.repairs, 0U) << "seed " << seed;
  }
  [[nodiscard]] const StaySetting& setting() const { return setting_; }
  // Of a process in the undisturbed run.
  [[nodiscard]] std::uint64_t operations(Process process) const { return undisturbed_.operations.at(process); }
  [[nodiscard]] std::uint64_t restored_at(Process process) const { return undisturbed_.restored_at.at(process); }
  [[nodiscard]] std::uint64_t ended_at(Process process) const { return undisturbed_.ended_at.at(process); }
  // Shortly before the end of its application.
  [[nodiscard]] std::uint64_t late(Process process) const {
    return std::max(restored_at(process), ended_at(process) - 3);
  }

  [[nodiscard]] std::uint64_t operations_of_program(std::uint32_t rank) const { return program_.at(rank).size(); }

  // A run in which processes die, with what is wrong with it as its fault.
  [[nodiscard]] StayJob::Outcome play(const Deaths& deaths, const std::optional<Strike>& strike = {}) const {
    auto outcome = StayJob(program_, setting_).run(deaths, strike);
    if (outcome.fault.empty() && outcome.results != undisturbed_.results) outcome.fault = "another result";
    if (!outcome.fault.empty()) outcome.fault += fmt::format("; seed {}, deaths {}", setting_.seed, deaths);
    return outcome;
  }

 private:
  StaySetting setting_;
  Program program_;
  StayJob::Outcome undisturbed_;
};

std::vector<std::uint32_t> spares_on_each(std::uint32_t nodes, std::uint32_t each) {
  std::vector<std::uint32_t> spares;
  for (std::uint32_t i = 0; i < nodes * each; ++i) spares.push_back(i % nodes);
  return spares;
}

// Two nodes, of two ranks, a head and spares each: processes 0, 1, 2 and 3, 4, 5; then spares by turns.
StaySetting two_nodes() { return {.spares = spares_on_each(2, 3), .settings = kEveryCall}; }
constexpr Process kRanks[] = {0, 1, 3, 4};
constexpr Process kHeads[] = {2, 5};
constexpr Process kReplacementOf0 = 10;  // the last spare of its node
constexpr Process kNextReplacementOf0 = 8;

class Stay : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seed, Stay, testing::Range<std::uint64_t>(1, 4));

TEST_P(Stay, comes_to_the_same_result_whichever_operation_a_rank_dies_at) {
  const Case of(GetParam(), two_nodes());
  for (const Process rank : kRanks) {
    for (std::uint64_t at = 0; at < of.operations(rank); ++at) ASSERT_EQ(of.play({{rank, at}}).fault, "");
  }
}

TEST_P(Stay, comes_to_the_same_result_whichever_operation_a_head_dies_at) {
  const Case of(GetParam(), two_nodes());
  for (const Process head : kHeads)
    for (std::uint64_t at = 0; at < of.operations(head); ++at) ASSERT_EQ(of.play({{head, at}}).fault, "");
}

TEST_P(Stay, comes_to_the_same_result_whichever_operation_a_rank_that_is_its_head_dies_at) {
  StaySetting setting = two_nodes();
  setting.has_heads = false;
  const Case of(GetParam(), setting);
  for (std::uint64_t at = 0; at < of.operations(0); ++at) ASSERT_EQ(of.play({{0, at}}).fault, "");
}

TEST_P(Stay, comes_to_the_same_result_when_two_ranks_die_at_once) {
  const Case of(GetParam(), two_nodes());
  for (std::uint64_t at = 0; at < of.operations(0); ++at) {
    ASSERT_EQ(of.play({{0, at}, {1, at}}).fault, "") << "on one node";
    ASSERT_EQ(of.play({{0, at}, {4, at}}).fault, "") << "on two";
  }
}

// Also while it meets the others, and while it waits for the lost rank to restore.
TEST_P(Stay, comes_to_the_same_result_when_a_survivor_dies_in_the_repair) {
  const Case of(GetParam(), two_nodes());
  const std::uint64_t first = (of.restored_at(0) + of.late(0)) / 2;
  const std::uint64_t end = of.play({{0, first}}).operations.at(4);
  for (std::uint64_t at = of.restored_at(4); at < end; ++at) ASSERT_EQ(of.play({{0, first}, {4, at}}).fault, "");
}

TEST_P(Stay, comes_to_the_same_result_whichever_operation_a_replacement_dies_at) {
  const Case of(GetParam(), two_nodes());
  const std::uint64_t first = of.late(0);
  const auto once = of.play({{0, first}});
  ASSERT_EQ(once.fault, "");
  ASSERT_EQ(once.rollbacks, 0U);
  ASSERT_GT(once.restored_at.at(kReplacementOf0), 0U);
  for (std::uint64_t at = 0; at < once.operations.at(kReplacementOf0); ++at)
    ASSERT_EQ(of.play({{0, first}, {kReplacementOf0, at}}).fault, "");
}

TEST_P(Stay, comes_to_the_same_result_whenever_another_rank_dies_while_a_replacement_catches_up) {
  StaySetting setting = two_nodes();
  setting.settings = kEveryThird;
  setting.rounds = 6;
  const Case of(GetParam(), setting);
  for (const Process other : {1U, 3U, 4U}) {
    // The first is the meeting, to which the other one may have come already.
    for (std::uint64_t begins = 2; begins < of.operations_of_program(0); ++begins) {
      const auto outcome = of.play({{0, of.late(0)}}, Strike{kReplacementOf0, begins, other});
      ASSERT_EQ(outcome.fault, "") << "process " << other << " at " << begins;
      if (outcome.deaths == 1) break;  // it has caught up
    }
  }
}

// Its program may fail each time.
TEST_P(Stay, lets_all_ranks_roll_back_when_two_replacements_in_a_row_die_before_they_have_caught_up) {
  const Case of(GetParam(), two_nodes());
  Deaths deaths{{0, of.late(0)}};
  for (const Process replacement : {kReplacementOf0, kNextReplacementOf0}) {
    const auto outcome = of.play(deaths);
    ASSERT_EQ(outcome.rollbacks, 0U);
    deaths[replacement] = outcome.restored_at.at(replacement);
  }
  const auto outcome = of.play(deaths);
  EXPECT_EQ(outcome.fault, "");
  EXPECT_EQ(outcome.rollbacks, 1U);
  EXPECT_TRUE(outcome.lost_in_catch_ups);
}

// The record of what it has received from any rank is where it was.
TEST_P(Stay, comes_to_the_same_result_when_the_replacement_is_on_another_node) {
  constexpr std::uint64_t kSeeds = 5;
  StaySetting setting = two_nodes();
  setting.spares = {1};
  setting.settings = kEveryThird;
  setting.rounds = 6;
  for (std::uint64_t seed = kSeeds * GetParam(); seed < kSeeds * (GetParam() + 1); ++seed) {
    const Case of(seed, setting);
    for (std::uint64_t at = of.ended_at(0); at > of.restored_at(0); at -= std::min<std::uint64_t>(4, at))
      ASSERT_EQ(of.play({{0, at - 1}}).fault, "");
  }
}

// Four nodes, of a rank each, that is its head: what snapshot() returns is at its levels. One node is lost with its
// store. Its replacement restores from L2, which is older than L1.
StaySetting of_lost_nodes() {
  return {.nodes = 4,
          .ranks_per_node = 1,
          .has_heads = false,
          .spares = {1, 2, 3},
          .settings = "[levels]\nl1 = every 1\nl2 = every 2\nl3 = off\nl4 = off\n[replay]\nsurvives = node\n",
          .rounds = 8,
          .lost_node = 0};
}

TEST_P(Stay, comes_to_the_same_result_when_a_node_is_lost) {
  const Case of(GetParam(), of_lost_nodes(), Case::Receives::from_named);
  for (std::uint64_t at = (of.restored_at(0) + of.ended_at(0)) / 2; at < of.ended_at(0); ++at)
    ASSERT_EQ(of.play({{0, at}}).fault, "");
}

// Then the record of its choices is lost, too.
TEST(StayLost, lets_all_ranks_roll_back_where_what_a_lost_rank_has_received_is_not_known) {
  StaySetting setting = of_lost_nodes();
  setting.may_roll_back = true;
  std::uint32_t rollbacks = 0;
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    const Case of(seed, setting);
    for (std::uint64_t at = (of.restored_at(0) + of.ended_at(0)) / 2; at < of.ended_at(0); ++at) {
      const auto outcome = of.play({{0, at}});
      ASSERT_EQ(outcome.fault, "");
      rollbacks += outcome.rollbacks;
    }
  }
  EXPECT_GT(rollbacks, 0U);
}

// A replacement and two spares recompute the steps of the dead rank.
class StayHelped : public Stay {
 protected:
  StayHelped() {
    StaySetting setting = two_nodes();
    setting.settings = kEveryThird;
    setting.helpers = 3;
    setting.rounds = 8;
    of_.emplace(GetParam(), setting, Case::Receives::from_named);
  }
  std::optional<Case> of_;
};
INSTANTIATE_TEST_SUITE_P(Seed, StayHelped, testing::Range<std::uint64_t>(1, 4));

TEST_P(StayHelped, comes_to_the_same_result_whichever_operation_a_rank_dies_at) {
  std::uint32_t recomputed = 0;
  for (std::uint64_t at = of_->restored_at(0); at < of_->ended_at(0); ++at) {
    const auto outcome = of_->play({{0, at}});
    ASSERT_EQ(outcome.fault, "");
    recomputed += outcome.recomputed;
  }
  EXPECT_GT(recomputed, 0U);
}

TEST_P(StayHelped, comes_to_the_same_result_whichever_operation_a_helper_or_the_replacement_dies_at) {
  const std::uint64_t first = of_->late(0);
  const auto once = of_->play({{0, first}});
  ASSERT_EQ(once.fault, "");
  for (const Process process : {6U, 7U, kReplacementOf0})
    for (std::uint64_t at = 0; at < once.operations.at(process); ++at)
      ASSERT_EQ(of_->play({{0, first}, {process, at}}).fault, "");
}

// One exchanges other messages than the dead rank, and waits for one that nobody sends; or sends one that nobody
// awaits.
TEST_P(Stay, lets_all_ranks_roll_back_when_a_replacement_diverges) {
  using AfterRestore = StaySetting::AfterRestore;
  for (const auto after : {AfterRestore::exchange, AfterRestore::send}) {
    StaySetting setting = two_nodes();
    setting.has_heads = false;  // what snapshot() returns is safe
    setting.rounds = 6;
    setting.after_restore = after;
    setting.may_roll_back = true;
    const Case of(GetParam(), setting);
    const auto outcome = of.play({{0, of.late(0)}});
    EXPECT_EQ(outcome.fault, "");
    EXPECT_TRUE(outcome.diverged);
    EXPECT_EQ(outcome.rollbacks, 1U);
  }
}

// A log that has no room makes all ranks roll back, until a later snapshot is complete.
TEST_P(Stay, comes_to_the_same_result_when_logs_fill) {
  for (const char* spill : {"off", "1MiB"}) {
    StaySetting setting = two_nodes();
    setting.settings += fmt::format("[replay]\nmemory = 1MiB\nspill = {}\n", spill);
    setting.longer = 200;
    setting.may_roll_back = true;
    const Case of(GetParam(), setting);
    for (std::uint64_t at = of.restored_at(0); at < of.ended_at(0); ++at) ASSERT_EQ(of.play({{0, at}}).fault, "");
  }
}

StaySetting drawn_setting(std::mt19937_64& random) {
  StaySetting setting;
  setting.nodes = 2 + static_cast<std::uint32_t>(random() % 3);
  setting.ranks_per_node = setting.nodes == 2 ? 2 : 1;
  setting.has_heads = random() % 3 != 0;
  setting.spares = spares_on_each(setting.nodes, 3);
  static constexpr const char* kLevels[] = {kEveryCall, kEveryCall,
                                            "[levels]\nl1 = every 2\nl2 = off\nl3 = off\nl4 = off\n",
                                            "[levels]\nl1 = every 1\nl2 = every 2\nl3 = off\nl4 = off\n",
                                            "[levels]\nl1 = auto\nl2 = off\nl3 = off\nl4 = off\n"};
  setting.settings = kLevels[random() % std::size(kLevels)];
  setting.rounds = 2 + static_cast<std::uint32_t>(random() % 6);
  setting.may_roll_back = random() % 6 == 0;
  if (setting.may_roll_back) {
    setting.longer = 200;
    setting.settings += "[replay]\nmemory = 1MiB\nspill = 1MiB\n";
  }
  return setting;
}

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// A rank dies after restore(), and perhaps others, too: working processes, or the first that replaces it.
Deaths drawn_deaths(const Case& of, std::mt19937_64& random) {
  Deaths deaths;
  const Roster roster = StayJob::roster_of(of.setting());
  std::vector<Process> ranks;
  std::vector<Process> all;
  for (Process process = 0; process < roster.size(); ++process) {
    if (roster[process].role == Member::Role::rank) ranks.push_back(process);
    if (roster[process].role != Member::Role::spare) all.push_back(process);
  }
  const Process first = ranks[random() % ranks.size()];
  deaths[first] = of.restored_at(first) + random() % (of.ended_at(first) - of.restored_at(first) + 1);
  for (auto more = random() % 3; more > 0; --more) {
    const Process other = all[random() % all.size()];
    deaths.try_emplace(other, of.restored_at(other) + random() % of.operations(other));
  }
  Process replacement = 0;  // the last spare of its node
  for (Process process = 0; process < roster.size(); ++process)
    if (roster[process].role == Member::Role::spare && roster[process].node == roster[first].node)
      replacement = process;
  if (random() % 3 == 0) deaths[replacement] = random() % 60;
  return deaths;
}

TEST(StaySeeds, come_to_the_same_results) {
  int stayed = 0;
  const std::uint64_t first = number_in("STAY_FIRST", 1);
  for (std::uint64_t seed = first; seed < first + number_in("STAY_SEEDS", 40); ++seed) {
    std::mt19937_64 random(seed);
    const Case of(seed, drawn_setting(random));
    const auto outcome = of.play(drawn_deaths(of, random));
    ASSERT_EQ(outcome.fault, "");
    if (outcome.deaths > 0 && outcome.rollbacks == 0) ++stayed;
  }
  RecordProperty("stayed", stayed);
  EXPECT_GT(stayed, 0) << "only the lost ranks roll back";
}

}  // namespace
}  // namespace cairn::test
