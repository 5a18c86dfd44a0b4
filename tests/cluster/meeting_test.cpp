// Processes die at each step of a meeting, between threads: all survivors come to the same, and nobody waits for ever.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

#include "meeting_job.hpp"
#include "repair/growth.hpp"

namespace cairn::test {
namespace {

using Plan = MeetingJob::Plan;
using Outcome = MeetingJob::Outcome;
using Process = MeetingJob::Process;

const std::set<std::string> kOver{"the job is over"};

std::set<std::string> error_of(Code code) { return {std::to_string(static_cast<int>(code))}; }

Plan newcomers() {
  return {.hosts = std::vector<std::string>(6, "host"), .nodes = {3, 3}, .config = MeetingJob::with_newcomers()};
}
Plan spares() {
  return {.hosts = std::vector<std::string>(9, "host"), .nodes = {3, 3, 3}, .config = MeetingJob::with_spares(3)};
}

Outcome run(Plan plan) { return MeetingJob(std::move(plan)).run(); }

std::string text_of(const std::map<Process, std::uint64_t>& deaths) {
  std::string text;
  for (const auto& [process, operation] : deaths)
    text += "process " + std::to_string(process) + " dies at its operation " + std::to_string(operation) + "; ";
  return text;
}

// Two to four of the first nine processes die, each at one of its first `operations` operations.
Plan with_drawn_deaths(Plan plan, std::uint64_t seed, std::uint64_t operations) {
  std::mt19937_64 draw(seed);
  plan.seed = seed;
  const std::uint64_t deaths = 2 + draw() % 3;
  for (std::uint64_t i = 0; i < deaths; ++i) {
    const auto victim = static_cast<Process>(draw() % 9);
    plan.deaths[victim] = 1 + draw() % operations;
  }
  return plan;
}

// One of the job's processes dies at its n-th operation, for all n, besides those that the plan says. Returns how many
// jobs there were.
std::uint64_t expect_repaired_whenever_dies(const Plan& plan, Process victim) {
  for (std::uint64_t operation = 1;; ++operation) {
    Plan with_death = plan;
    with_death.seed = operation;
    with_death.deaths[victim] = operation;
    const Outcome outcome = run(with_death);
    EXPECT_EQ(outcome.trouble, "") << text_of(with_death.deaths);
    EXPECT_EQ(outcome.endings, kOver) << text_of(with_death.deaths);
    // No process is started for nothing.
    if (may_grow(plan.config.recovery) && !outcome.lost.empty()) {
      EXPECT_EQ(outcome.state.roster.size(), plan.hosts.size()) << text_of(with_death.deaths);
    }
    if (testing::Test::HasFailure()) return operation;
    if (!outcome.dead.contains(victim)) return operation;
  }
}

TEST(Meeting, ends_the_job_where_nobody_dies) {
  const Outcome outcome = run(spares());
  EXPECT_EQ(outcome.trouble, "");
  EXPECT_EQ(outcome.endings, kOver);
  EXPECT_TRUE(outcome.lost.empty());
}

TEST(Meeting, comes_to_one_pool_whichever_operation_a_process_dies_at) {
  for (Process victim = 0; victim < 9; ++victim) EXPECT_GT(expect_repaired_whenever_dies(spares(), victim), 2U);
}

TEST(Meeting, comes_to_one_pool_whichever_operation_of_it_another_process_dies_at) {
  Plan plan = spares();
  plan.deaths[1] = 1;
  for (const Process victim : {0U, 2U, 3U, 5U, 6U, 8U}) EXPECT_GT(expect_repaired_whenever_dies(plan, victim), 20U);
}

TEST(Meeting, comes_to_one_end_whichever_processes_die_at_the_same_time) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Plan plan = with_drawn_deaths(spares(), seed, 30);
    const Outcome outcome = run(plan);
    ASSERT_EQ(outcome.trouble, "") << "seed " << seed << ": " << text_of(plan.deaths);
    ASSERT_EQ(outcome.endings.size(), 1U) << "seed " << seed << ": " << text_of(plan.deaths);
    if (outcome.dead.size() <= 2) {
      ASSERT_EQ(outcome.endings, kOver) << "seed " << seed << ": " << text_of(plan.deaths);
    }
  }
}

TEST(Meeting, says_on_all_processes_that_no_spare_is_left) {
  Plan plan = spares();
  plan.mode = HeadMode::inline_;
  plan.deaths = {{0, 1}, {1, 1}, {3, 1}, {4, 1}};
  const Outcome outcome = run(plan);
  EXPECT_EQ(outcome.trouble, "");
  EXPECT_EQ(outcome.endings, error_of(Code::unrecoverable));
}

TEST(Meeting, reaches_members_that_an_agreement_has_missed) {
  for (std::uint64_t operation = 1; operation < 5; ++operation) {
    Plan plan = spares();
    plan.loses_agreements = true;
    plan.deaths = {{1, operation}};
    const Outcome outcome = run(plan);
    ASSERT_EQ(outcome.trouble, "") << text_of(plan.deaths);
    ASSERT_EQ(outcome.endings, kOver) << text_of(plan.deaths);
  }
}

TEST(Meeting, waits_for_those_that_come_late) {
  for (const Process late : {0U, 2U, 3U, 5U, 8U}) {
    Plan plan = spares();
    plan.deaths = {{1, 1}};
    plan.late = {late};
    const Outcome outcome = run(plan);
    EXPECT_EQ(outcome.trouble, "");
    EXPECT_EQ(outcome.endings, kOver);
    EXPECT_EQ(outcome.dead, std::set<Process>{1});
  }
}

TEST(Meeting, ends_the_job_if_mpi_never_reports_a_death) {
  Plan plan = spares();
  plan.deaths = {{1, 1}, {2, 1}};
  plan.hidden = {2};  // a head
  const Outcome outcome = run(plan);
  EXPECT_EQ(outcome.trouble, "");
  EXPECT_EQ(outcome.endings, error_of(Code::communication));
}

TEST(Meeting, kills_and_replaces_those_that_do_not_come) {
  for (const std::set<Process>& stragglers : {std::set<Process>{0}, {2}, {3}, {6}, {0, 3}}) {
    Plan plan = spares();
    plan.config.recovery.straggler_limit = std::chrono::milliseconds(30);
    plan.deaths = {{1, 1}};
    plan.stragglers = stragglers;
    const Outcome outcome = run(plan);
    ASSERT_EQ(outcome.trouble, "");
    ASSERT_EQ(outcome.endings, kOver);
    auto dead = stragglers;
    dead.insert(1);
    EXPECT_EQ(outcome.dead, dead);
  }
}

TEST(Meeting, lets_only_the_lost_ranks_roll_back_if_all_others_can_stay) {
  Plan plan = spares();
  plan.deaths = {{1, 1}};
  EXPECT_EQ(run(plan).lost, (std::map<std::uint32_t, bool>{{1, true}}));
  plan.obstructed = {3, 4};
  const Outcome outcome = run(plan);
  EXPECT_EQ(outcome.lost, (std::map<std::uint32_t, bool>{{1, false}}));
  EXPECT_EQ(outcome.reasons, (std::map<std::uint32_t, std::uint32_t>{{1, 1}}));
}

// The node of rank 1, after the death of its first process.
std::string node_of_replacement(const std::set<std::string>& sick) {
  Plan plan = spares();
  plan.nodes = {3, 3, 2, 1};
  plan.config.localize.on = true;
  plan.config.localize.act = localize::Act::avoid;
  plan.sick = sick;
  plan.deaths = {{1, 1}};
  const Outcome outcome = run(plan);
  EXPECT_EQ(outcome.trouble, "");
  EXPECT_EQ(outcome.endings, kOver);
  for (const Member& member : outcome.state.roster) {
    if (member.role == Member::Role::rank && member.rank == Rank{1}) return outcome.state.nodes[member.node.value].node;
  }
  return "none";
}

TEST(Meeting, takes_spares_last_on_nodes_that_any_process_knows_to_be_sick) {
  const std::string first = node_of_replacement({});
  const std::string second = node_of_replacement({first});
  EXPECT_NE(second, first);
  EXPECT_EQ(node_of_replacement({first, second}), first);
}

TEST(Growth, replaces_a_process_that_dies_at_any_operation_by_a_new_one) {
  for (Process victim = 0; victim < 6; ++victim) EXPECT_GT(expect_repaired_whenever_dies(newcomers(), victim), 2U);
}

TEST(Growth, replaces_survivors_that_die_at_any_operation_of_it) {
  Plan plan = newcomers();
  plan.deaths[1] = 1;
  for (const Process victim : {0U, 3U, 5U}) EXPECT_GT(expect_repaired_whenever_dies(plan, victim), 20U);
}

TEST(Growth, replaces_new_processes_that_die_at_any_operation) {
  Plan plan = newcomers();
  plan.deaths[1] = 1;
  EXPECT_GT(expect_repaired_whenever_dies(plan, 6), 12U);
  plan.deaths[2] = 1;
  EXPECT_GT(expect_repaired_whenever_dies(plan, 6), 12U);
  EXPECT_GT(expect_repaired_whenever_dies(plan, 7), 12U);
}

TEST(Growth, comes_to_one_end_whichever_processes_die_at_the_same_time) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Plan plan = with_drawn_deaths(newcomers(), seed, 40);  // newcomers die, too
    const Outcome outcome = run(plan);
    ASSERT_EQ(outcome.trouble, "") << "seed " << seed << ": " << text_of(plan.deaths);
    ASSERT_EQ(outcome.endings, kOver) << "seed " << seed << ": " << text_of(plan.deaths);
  }
}

TEST(Growth, ends_the_job_on_all_processes_if_no_new_one_ever_lives) {
  Plan plan = newcomers();
  plan.deaths[1] = 1;
  for (Process newcomer = 6; newcomer < 20; ++newcomer) plan.deaths[newcomer] = 1;
  const Outcome outcome = run(plan);
  EXPECT_EQ(outcome.trouble, "");
  EXPECT_EQ(outcome.endings, error_of(Code::communication));
}

TEST(Growth, starts_new_processes_elsewhere_if_a_host_takes_none) {
  Plan plan = newcomers();
  plan.hosts = {"one", "one", "one", "two", "two", "two"};
  plan.full_host = "one";
  plan.deaths = {{1, 1}};
  const Outcome outcome = run(plan);
  EXPECT_EQ(outcome.trouble, "");
  EXPECT_EQ(outcome.endings, kOver);
  EXPECT_EQ(outcome.state.closed_hosts, std::set<std::string>{"one"});
}

}  // namespace
}  // namespace cairn::test
