// For which ranks others wait: as fault localization takes it from the calls of all ranks.
#include "engine/blockers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/call_watch.hpp"
#include "hang/short_form.hpp"
#include "store/memory/memory_store.hpp"
#include "store/names.hpp"
#include "support/hang_cases.hpp"
#include "support/hang_facts.hpp"
#include "support/sample_calls.hpp"

namespace cairn::test {
namespace {

using localize::Blocker;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::Lt;

constexpr hang::Patience kPatience{10, 10};

NodeId node_of(Rank rank) { return NodeId{rank.value / 2}; }

std::vector<Blocker> blockers(const SampleCalls& job, double after = 10) {
  return find_blockers(job.readings(), node_of, {after, after});
}

// All ranks but these have been waiting in a collective for 42 s; the others computed for 50 s.
SampleCalls waiting_job(const std::vector<std::uint32_t>& mute) {
  SampleCalls job(6);
  job.all_last(collective("MPI_Alltoall"), mute);
  for (const std::uint32_t rank : mute) job.facts[rank] = kComputes;
  return job;
}

TEST(Blockers, are_the_ranks_for_which_others_wait) {
  const auto found = blockers(waiting_job({3}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].suspect, (Suspect{NodeId{1}, Rank{3}}));
  EXPECT_EQ(found[0].doing, Blocker::Doing::computes);
  EXPECT_EQ(found[0].call, "MPI_Barrier");
  EXPECT_EQ(found[0].awaited, "MPI_Alltoall");
  EXPECT_EQ(found[0].waiting, 5U);
  EXPECT_TRUE(found[0].likely);
  EXPECT_EQ(found[0].unseen, 0U);
}

TEST(Blockers, sleep_or_are_in_another_call) {
  SampleCalls job = waiting_job({3});
  job.facts[3] = kIdles;
  EXPECT_EQ(blockers(job).at(0).doing, Blocker::Doing::idles);
  CallRecord write;
  write.kind = CallKind::other;
  job.lasts(3, {"MPI_File_write", write});
  EXPECT_EQ(blockers(job).at(0).doing, Blocker::Doing::in_call);
  EXPECT_EQ(blockers(job).at(0).call, "MPI_File_write");
}

TEST(Blockers, are_not_stopped_or_dead_which_their_head_notices) {
  for (const hang::ProcessFacts& facts : {kStopped, kDead}) {
    SampleCalls job = waiting_job({3});
    job.facts[3] = facts;
    EXPECT_THAT(blockers(job), IsEmpty());
  }
}

TEST(Blockers, are_none_where_nobody_has_waited_for_long) {
  EXPECT_THAT(blockers(waiting_job({3}), 43), IsEmpty());
  EXPECT_THAT(blockers(SampleCalls(6)), IsEmpty());
}

// The others came early: the rank has not computed for long.
TEST(Blockers, have_done_something_else_for_long) {
  SampleCalls job = waiting_job({3});
  job.did(3, collective("MPI_Barrier", kNoPeer, 0), 5);
  EXPECT_THAT(blockers(job), IsEmpty());
}

TEST(Blockers, are_none_where_most_ranks_compute) { EXPECT_THAT(blockers(waiting_job({1, 2, 3, 4})), IsEmpty()); }

// Ranks 1 and 2 wait for each other, and rank 0 for rank 1.
SampleCalls job_in_a_circle() {
  SampleCalls job(6);
  job.lasts(0, receive(1, 6));
  job.lasts(1, receive(2, 7));
  job.lasts(2, receive(1, 7));
  return job;
}

// It is certain at once; what may continue has more time.
TEST(Blockers, are_ranks_that_wait_for_each_other_long_before_others_are_suspected) {
  const auto found = find_blockers(job_in_a_circle().readings(), node_of, {10, 600});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].deadlock());
  EXPECT_EQ(found[0].suspect, (Suspect{NodeId{0}, Rank{1}}));
  EXPECT_THAT(found[0].ranks, ElementsAre(Rank{1}, Rank{2}));
  EXPECT_EQ(found[0].doing, Blocker::Doing::waits);
  EXPECT_EQ(found[0].call, "MPI_Recv");
  EXPECT_EQ(found[0].waiting, 3U);
  EXPECT_TRUE(found[0].likely);
  EXPECT_THAT(find_blockers(job_in_a_circle().readings(), node_of, {43, 600}), IsEmpty());
  EXPECT_THAT(find_blockers(waiting_job({3}).readings(), node_of, {10, 600}), IsEmpty());
}

// Other ranks may never need these two.
TEST(Blockers, are_ranks_that_wait_for_each_other_though_the_rest_goes_on) {
  SampleCalls job = job_in_a_circle();
  const auto before = job.moments();
  job.did(5, collective("MPI_Barrier"), 0);
  EXPECT_EQ(find_blockers(job.readings_since(before), node_of, kPatience).size(), 1U);
}

TEST(Blockers, are_ranks_that_enter_a_collective_otherwise) {
  SampleCalls job(6);
  job.all_last(collective("MPI_Reduce", 0), {4});
  job.lasts(4, collective("MPI_Bcast", 0));
  const auto found = find_blockers(job.readings(), node_of, {10, 600});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].doing, Blocker::Doing::differs);
  EXPECT_THAT(found[0].ranks, ElementsAre(Rank{4}));
  EXPECT_EQ(found[0].call, "MPI_Bcast");
  EXPECT_EQ(found[0].awaited, "MPI_Reduce");
}

// A rank that waits for it as the head of its node is innocent.
TEST(Blockers, are_ranks_that_leave_a_call_of_cairn_out) {
  SampleCalls job(4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    job.of(rank).head_rank = 0;
    job.in_cairn(rank, CairnCall::snapshot, rank == 2 ? 5 : 6, rank == 0 ? kLong : 0);
  }
  job.all_last(collective("MPI_Allreduce"), {0});
  const auto found = find_blockers(job.readings(), node_of, kPatience);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].doing, Blocker::Doing::left_out);
  EXPECT_THAT(found[0].ranks, ElementsAre(Rank{2}));
  EXPECT_EQ(found[0].call, "snapshot()");
}

// It may be that no need of theirs is open.
TEST(Blockers, are_an_unclear_deadlock_only_after_the_time_for_what_may_go_on) {
  for (const HangCase& unclear : hang_cases()) {
    if (unclear.cause != hang::Cause::circle || unclear.certainty == hang::Certainty::certain) continue;
    SampleCalls job(4);
    unclear.prepare(job);
    EXPECT_THAT(find_blockers(job.readings(), node_of, {10, 600}), IsEmpty()) << unclear.name;
    const auto found = find_blockers(job.readings(), node_of, kPatience);
    ASSERT_FALSE(found.empty()) << unclear.name;
    EXPECT_TRUE(found[0].deadlock());
    EXPECT_FALSE(found[0].likely);
  }
}

// What the tool calls a hang, heads report: all certain ones, but those that the heads of dead or stopped ranks notice.
TEST(Blockers, are_found_in_every_job_of_which_the_tool_says_that_it_hangs) {
  for (const HangCase& one : hang_cases()) {
    if (one.verdict != hang::Verdict::hangs) continue;
    const bool noticed = one.cause == hang::Cause::dead || one.cause == hang::Cause::stopped ||
                         one.cause == hang::Cause::all_stopped || one.cause == hang::Cause::left;
    SampleCalls job(4);
    one.prepare(job);
    EXPECT_TRUE(noticed || !find_blockers(job.readings(), node_of, {10, 600}).empty()) << one.name;
  }
}

TEST(Blockers, are_looked_for_rarely_while_a_wait_lasts) {
  const hang::Patience patience{10, 600};
  for (const double waited : {9.0, 33.0, 39.0, 60.0, 599.0})
    EXPECT_FALSE(is_worth_a_survey(waited, patience)) << waited;
  for (const double waited : {10.0, 21.0, 25.0, 41.0, 85.0, 600.0, 631.0})
    EXPECT_TRUE(is_worth_a_survey(waited, patience)) << waited;
}

// As the heads of nodes answer, of which node 2 does not.
TEST(Blockers, name_what_is_missing) {
  const SampleCalls job = waiting_job({3});
  const auto readings = job.readings();
  localize::CallReports reports;
  for (std::size_t node = 0; node < 2; ++node)
    reports.calls[NodeId{static_cast<std::uint32_t>(node)}] =
        hang::encode({readings[2 * node], readings[2 * node + 1]});
  reports.silent = {NodeId{2}};
  const auto found = find_blockers(reports, 6, node_of, kPatience);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].suspect.rank, Rank{3});
  EXPECT_EQ(found[0].waiting, 3U);
  EXPECT_EQ(found[0].unseen, 2U);
  EXPECT_THAT(found[0].silent, ElementsAre(NodeId{2}));
}

TEST(Blockers, take_an_answer_about_another_job_for_none) {
  localize::CallReports reports;
  reports.calls[NodeId{0}] = hang::encode(waiting_job({3}).readings());
  EXPECT_EQ(find_blockers(reports, 6, node_of, kPatience).size(), 1U);
  EXPECT_THAT(find_blockers(reports, 7, node_of, kPatience), IsEmpty());
}

TEST(Blockers, take_a_damaged_answer_for_none) {
  const auto readings = waiting_job({3}).readings();
  localize::CallReports reports;
  reports.calls[NodeId{0}] = hang::encode({readings[0], readings[1], readings[3]});
  reports.calls[NodeId{1}] = Buffer(9, std::byte{1});
  const auto found = find_blockers(reports, 6, node_of, kPatience);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].silent, ElementsAre(NodeId{1}));
  EXPECT_THAT(find_blockers(localize::CallReports{}, 6, node_of, kPatience), IsEmpty());
}

class CallWatchOfAJob : public testing::Test {
 protected:
  void look(char state = 'R') {
    for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) watch.look(Rank{rank}, ProcessState{state, ticks, 1});
    ticks += 50;
  }
  [[nodiscard]] std::int64_t ago(double seconds) const { return job.now() - static_cast<std::int64_t>(seconds * 1e9); }
  SampleCalls job = waiting_job({3});
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  CallWatch watch{store};
  std::uint64_t ticks = 10;
};

TEST_F(CallWatchOfAJob, notices_that_a_rank_waits_for_long) {
  look();
  EXPECT_THAT(watch.waits(), IsEmpty());
  job.write(*store);
  look();
  EXPECT_THAT(watch.waits(), Contains(AllOf(Lt(ago(kLong - 1)), Gt(ago(kLong + 1)))));
}

TEST_F(CallWatchOfAJob, does_not_take_a_computation_for_a_wait) {
  job = SampleCalls(4);
  job.write(*store);
  look();
  EXPECT_THAT(watch.waits(), IsEmpty());
}

TEST_F(CallWatchOfAJob, reports_what_others_need_to_find_the_rank) {
  job.write(*store);
  look();
  look();
  const auto found = find_blockers(watch.readings(job.now()), node_of, kPatience);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].suspect.rank, Rank{3});
  EXPECT_EQ(found[0].doing, Blocker::Doing::computes);
}

TEST_F(CallWatchOfAJob, knows_whether_a_rank_went_on_between_two_looks) {
  job.write(*store);
  look();
  job.did(3, send(1, 7), 0);
  job.write(*store);
  look();
  EXPECT_TRUE(watch.readings(job.now()).at(3).calls.progressed);
  look();
  EXPECT_FALSE(watch.readings(job.now()).at(3).calls.progressed);
}

TEST_F(CallWatchOfAJob, says_of_what_it_knows_of_a_process) {
  job.write(*store);
  watch.look(Rank{0}, std::nullopt);
  watch.look(Rank{1}, ProcessState{});
  watch.look(Rank{2}, ProcessState{'T', 1, 1});
  const auto readings = watch.readings(job.now());
  ASSERT_EQ(readings.size(), 3U);
  EXPECT_EQ(readings[0].process.state, hang::ProcessFacts::State::unknown);
  EXPECT_EQ(readings[1].process.state, hang::ProcessFacts::State::dead);
  EXPECT_EQ(readings[2].process.state, hang::ProcessFacts::State::stopped);
}

TEST_F(CallWatchOfAJob, forgets_a_rank_that_keeps_no_file_any_more) {
  job.write(*store);
  look();
  ASSERT_TRUE(store->remove(names::calls(Rank{3})));
  look();
  EXPECT_EQ(watch.readings(job.now()).size(), 5U);
}

}  // namespace
}  // namespace cairn::test
