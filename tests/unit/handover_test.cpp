#include "session/handover.hpp"

#include <sys/resource.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/exception.hpp"
#include "support/facts.hpp"
#include "support/small_tmpfs.hpp"
#include "support/temp_directory.hpp"

namespace cairn {
namespace {

using Kind = CompletionMark::Kind;
using test::Fails;
using test::SmallTmpfs;
using test::TempDirectory;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(CompletionMark, comes_back_from_its_file_as_it_was_left) {
  const TempDirectory directory("/tmp");
  const std::string path = directory.path() + "/mark";
  for (const CompletionMark& mark :
       {CompletionMark{Kind::opened, {}}, CompletionMark{Kind::finished, {}}, CompletionMark{Kind::stopped, {}},
        CompletionMark{Kind::error, "heat.ini:7: no such key"}, CompletionMark{Kind::failed, "std::bad_alloc"},
        CompletionMark{Kind::error, "full", {}, Cause{Cause::Source::error, Code::no_space, "v1/rank0 1.shard"}},
        CompletionMark{Kind::failed, "full", {}, Cause{Cause::Source::exception, {}, ""}},
        CompletionMark{Kind::failed, "", {}, Cause{Cause::Source::repairs, {}, {}}}}) {
    ASSERT_TRUE(write_mark(path, mark));
    EXPECT_EQ(read_mark(path).value(), mark);
  }
}

TEST(CompletionMark, of_an_open_session_names_its_run) {
  const CompletionMark mark{Kind::opened, {}, RunId{0xfedcba9876543210}};
  EXPECT_EQ(parse_mark(to_text(mark)).value(), mark);
}

TEST(CompletionMark, that_cannot_be_replaced_stays_as_it_is) {
  const TempDirectory directory("/tmp");
  const std::string path = directory.path() + "/mark";
  const CompletionMark mark{Kind::error, "regions do not match"};
  ASSERT_TRUE(write_mark(path, mark));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  const auto written = write_mark(path, {Kind::failed, "killed"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(written);
  EXPECT_THAT(written, Fails(Code::io, {path, std::generic_category().message(EFBIG)}));
  EXPECT_EQ(read_mark(path).value(), mark);
}

// The file has its full length from the start, so that the end needs no room.
TEST(CompletionMark, is_overwritten_in_place_also_on_a_full_disk) {
  const SmallTmpfs disk("size=64k");
  ASSERT_TRUE(disk.mounted());
  const std::string path = disk.path() + "/mark";
  ASSERT_TRUE(write_mark(path, {}));
  std::ofstream(disk.path() + "/ballast") << std::string(std::size_t{1} << 17, 'x') << std::flush;
  ASSERT_FALSE(write_mark(disk.path() + "/another", {}));
  const CompletionMark end{Kind::failed, std::string(kMarkBytes, 'x')};
  ASSERT_TRUE(write_mark(path, end));
  EXPECT_EQ(read_mark(path).value().text, std::string(kMarkBytes - sizeof "failed ", 'x'));
  ASSERT_TRUE(write_mark(path, {Kind::finished, {}}));
  EXPECT_EQ(read_mark(path).value().kind, Kind::finished);
}

TEST(CompletionMark, of_a_session_is_told_by_job_and_global_store) {
  Config one;
  Config two;
  EXPECT_EQ(session_name(one), session_name(two));
  two.job.name = "another";
  EXPECT_NE(session_name(one), session_name(two));
  one.job.name = two.job.name;
  two.storage.global = "/elsewhere";
  EXPECT_NE(session_name(one), session_name(two));
  EXPECT_EQ(session_of_mark(mark_of_session("/g/a.mark", session_name(one))), session_name(one));
}

// What a launch with these marks of sessions, and this one of its own, comes to.
Kind summary(const std::vector<Kind>& sessions, Kind launch = Kind::none) {
  Marks marks{{launch, {}}, {}};
  for (const Kind kind : sessions)
    marks.sessions.emplace(std::to_string(marks.sessions.size()), CompletionMark{kind, {}});
  return summary_of(marks).kind;
}

TEST(Marks, say_that_a_job_has_finished_once_each_of_its_sessions_has) {
  EXPECT_EQ(summary({}), Kind::none);
  EXPECT_EQ(summary({Kind::finished}), Kind::finished);
  EXPECT_EQ(summary({Kind::finished, Kind::opened}), Kind::opened);
  EXPECT_EQ(summary({Kind::finished, Kind::failed}), Kind::failed);
  EXPECT_EQ(summary({Kind::finished, Kind::finished}), Kind::finished);
  EXPECT_EQ(summary({Kind::finished, Kind::stopped}), Kind::stopped);
}

TEST(Marks, heed_what_processes_without_a_session_leave) {
  EXPECT_EQ(summary({}, Kind::opened), Kind::opened);
  EXPECT_EQ(summary({}, Kind::failed), Kind::failed);
  EXPECT_EQ(summary({Kind::finished}, Kind::error), Kind::error);
  EXPECT_EQ(summary({Kind::opened}, Kind::failed), Kind::failed);
  EXPECT_EQ(summary({Kind::failed, Kind::error}, Kind::failed), Kind::error);
  // An exception of the application after its session has ended as it should.
  EXPECT_EQ(summary({Kind::finished}, Kind::failed), Kind::finished);
}

TEST(Marks, of_a_launch_are_found_beside_its_own) {
  const TempDirectory directory("/tmp");
  const std::string launch = directory.path() + "/mark";
  ASSERT_TRUE(write_mark(launch, {Kind::failed, "exit"}));
  ASSERT_TRUE(write_mark(launch + ".00000001", {Kind::finished, {}}));
  ASSERT_TRUE(write_mark(launch + ".00000002", {}));
  ASSERT_TRUE(write_mark(directory.path() + "/other.00000003", {Kind::opened, {}}));
  const Marks marks = read_marks(launch);
  EXPECT_EQ(marks.launch.text, "exit");
  EXPECT_THAT(marks.sessions, ElementsAre(Pair(launch + ".00000001", CompletionMark{Kind::finished, {}})));
}

TEST(CompletionMark, is_none_until_its_line_is_whole) {
  for (const std::string text : {"", "fini", "finished", "error half a messa"})
    EXPECT_EQ(parse_mark(text).value(), CompletionMark{}) << text;
}

TEST(CompletionMark, keeps_to_one_line_whatever_the_text_has) {
  const CompletionMark mark{Kind::failed, "two\nlines"};
  EXPECT_EQ(parse_mark(to_text(mark) + "rest of a longer one\n").value().text, "two lines");
}

TEST(CompletionMark, keeps_its_cause_however_long_its_text_is) {
  const Cause cause{Cause::Source::error, Code::io, "v00000007/rank000003.shard"};
  const CompletionMark mark{Kind::failed, std::string(2 * kMarkBytes, 'x'), {}, cause};
  const std::string text = to_text(mark);
  EXPECT_EQ(text.size(), kMarkBytes);
  EXPECT_EQ(parse_mark(text)->cause, cause);
  // A cause that is too long is cut, and still the same in the next life.
  const CompletionMark long_one{Kind::failed, "x", {}, Cause{Cause::Source::exception, {}, std::string(9000, 'y')}};
  EXPECT_EQ(parse_mark(to_text(long_one))->cause, parse_mark(to_text(long_one))->cause);
  EXPECT_TRUE(parse_mark(to_text(long_one))->cause);
}

TEST(CompletionMark, of_an_older_cairn_or_with_a_cut_cause_has_none) {
  for (const char* more : {"", "cause", "cause error 7", "cause error 7 file", "cause error 99 file\n",
                           "cause other 7 \n", "cause error seven \n"}) {
    const auto mark = parse_mark(std::string("failed bad input\n") + more);
    ASSERT_TRUE(mark) << more;
    EXPECT_EQ(*mark, (CompletionMark{Kind::failed, "bad input"})) << more;
  }
}

TEST(Cause, is_that_of_the_error_behind_an_exception) {
  const Error error = Error{Code::no_space, "the store is full", {}}.in_file("v1/rank0").in("rank 3");
  EXPECT_EQ(cause_of(error), (Cause{Cause::Source::error, Code::no_space, "v1/rank0"}));
  EXPECT_EQ(cause_of(ErrorException(error)), cause_of(error));
  EXPECT_EQ(cause_of(std::runtime_error("bad input")), (Cause{Cause::Source::exception, {}, "bad input"}));
  EXPECT_TRUE(cause_of(error).is_first());
  EXPECT_FALSE(cause_of(Error{Code::communication, "gone", {}}).is_first());
  EXPECT_FALSE(cause_of(Error{Code::failed_elsewhere, "gone", {}}).is_first());
}

TEST(CompletionMark, is_refused_when_it_says_something_else) {
  EXPECT_EQ(parse_mark("done\n").error().code, Code::corrupt);
  EXPECT_EQ(parse_mark("finishedx\n").error().code, Code::corrupt);
}

TEST(CompletionMark, that_is_not_there_is_told_from_one_that_says_nothing) {
  EXPECT_EQ(read_mark("/nowhere/mark").error().code, Code::not_found);
}

TEST(Handover, numbers_come_back_from_their_text) {
  EXPECT_EQ(numbers_text({3, 0, 17}), "3,0,17");
  EXPECT_THAT(parse_numbers("X", "3,0,17").value(), ElementsAre(3, 0, 17));
  EXPECT_THAT(parse_numbers("X", numbers_text({})).value(), IsEmpty());
  EXPECT_THAT(parse_numbers("X", "5").value(), ElementsAre(5));
}

TEST(Handover, stop_signal_comes_back_from_its_text) {
  for (const std::optional<int> number : {std::optional<int>{}, {SIGUSR1}, {SIGUSR2}})
    EXPECT_EQ(parse_stop_signal(stop_signal_text(number)).value(), number);
  EXPECT_THAT(parse_stop_signal("SIGTERM"), Fails(Code::config, {"CKPT_RUN_STOP_SIGNAL", "SIGTERM", "SIGUSR2"}));
}

TEST(Handover, numbers_that_were_started_come_back_from_their_text) {
  const StartedNumbers started{8, 2, 2};
  EXPECT_EQ(parse_started(started_text(started)).value(), started);
  EXPECT_EQ(parse_started("").value(), std::nullopt);
  EXPECT_THAT(parse_started("8,2"), Fails(Code::config, {"CKPT_RUN_STARTED", "8,2", "ranks,heads,nodes"}));
}

TEST(Handover, what_is_said_of_the_world_comes_back_from_its_variables) {
  for (const StartedWorld& world : {StartedWorld{}, StartedWorld{{3}, 0}, StartedWorld{{3, 2, 2}, 4, true}})
    EXPECT_EQ(parse_world(world_variables(world)).value(), world);
  EXPECT_EQ(parse_world(world_variables({})).value(), std::nullopt);
  EXPECT_EQ(parse_world({}).value(), std::nullopt);
  // Each is set in all jobs: a job in a job must not take those of the outer one.
  for (const auto& [name, value] : world_variables({})) EXPECT_EQ(value, "") << name;
  auto wrong = world_variables(StartedWorld{});
  wrong[kWorldVariable] = "mine";
  EXPECT_THAT(parse_world(wrong), Fails(Code::config, {"CKPT_RUN_WORLD", "mine", "application"}));
  wrong = world_variables(StartedWorld{});
  wrong[kNodeSizeVariable] = "few";
  EXPECT_THAT(parse_world(wrong), Fails(Code::config, {"CKPT_RUN_NODE_SIZE", "few"}));
  wrong = world_variables(StartedWorld{});
  wrong[kSparesVariable] = "";
  EXPECT_THAT(parse_world(wrong), Fails(Code::config, {"CKPT_RUN_SPARES"}));
}

TEST(Handover, text_that_is_no_numbers_is_refused_by_the_name_of_its_variable) {
  for (const std::string text : {"a", "1,", ",1", "1,,2", "1 2", "-1", "4294967296"}) {
    const auto numbers = parse_numbers(kLostNodesVariable, text);
    ASSERT_FALSE(numbers) << text;
    EXPECT_THAT(numbers, Fails(Code::config, {"CKPT_RUN_LOST_NODES", text, "1,3"}));
  }
}

}  // namespace
}  // namespace cairn
