// How ckpt-run watches a launcher whose ranks are on other hosts. Launcher and agent are scripts: the agent says of
// every host what the file `ranks` says.
#include "supervisor.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "format/manifest.hpp"
#include "placement.hpp"
#include "session/handover.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/temp_directory.hpp"

namespace ckpt_run {
namespace {

using namespace std::chrono_literals;
using cairn::Config;
using Kind = cairn::CompletionMark::Kind;

constexpr std::chrono::hours kLong{1};
constexpr int kOwnEnd = 7;  // of a launcher that nobody has ended

// Hosts a and b, and this one, on which no rank is.
class LauncherOnOtherHosts : public testing::Test {
 protected:
  LauncherOnOtherHosts() {
    config_.storage.global = directory_.path() + "/global";
    facts_.host = "front";
    options_.hosts = {"a", "b"};
    options_.start_limit = kLong;
    std::ofstream(file("heard")) << std::flush;
    options_.agent = {write("agent", "case $2 in *PMIX_RANK*) code=$(cat '" + file("ranks") + "'); echo $code >>'" +
                                         file("heard") + "'; exit $code ;; *) echo $1 >>'" + file("cleaned") +
                                         "' ;; esac")};
  }

  [[nodiscard]] std::string file(const std::string& name) const { return directory_.path() + "/" + name; }

  std::string write(const std::string& name, const std::string& script) {
    std::ofstream(file(name)) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(file(name), std::filesystem::perms::owner_all);
    return file(name);
  }

  [[nodiscard]] static std::string name_of_test() { return fmt::format("test-supervisor-{}", ::getpid()); }

  void ranks_are(const std::string& code) { std::ofstream(file("ranks")) << code << "\n"; }

  // Questions are further apart than looks, so that there are looks between them.
  LifeEnd run(const std::string& launcher) {
    options_.launcher = write("launcher", launcher);
    const auto files = JobFiles::make(config_, "here", "test").value();
    Signals signals;
    Supervisor supervisor(options_, config_, facts_, false, *files, signals, name_of_test(), {3s, 1s});
    return supervisor.run({place(2, {}, config_, options_.hosts, {}).value(), {}, false}).value();
  }

  cairn::test::TempDirectory directory_{"/tmp"};
  Config config_;
  Facts facts_;
  Options options_;
};

TEST_F(LauncherOnOtherHosts, is_ended_when_it_stays_though_none_of_its_ranks_is_left) {
  ranks_are("0");
  // Once all hosts have said that there are some, there are none.
  const auto end = run("until [ $(wc -l <'" + file("heard") + "') -ge 2 ]; do sleep 0.01; done; echo 3 >'" +
                       file("ranks") + "'; sleep 60; exit 7");
  EXPECT_TRUE(end.ended_here);
}

TEST_F(LauncherOnOtherHosts, is_told_of_with_the_name_of_the_signal_that_ended_a_rank) {
  ranks_are("0");
  EXPECT_THAT(run("exit 139").how, cairn::test::Names({"launcher", "code 139", "SIGSEGV"}));
  EXPECT_THAT(run("exit 7").how, cairn::test::Names({"launcher", "code 7"}));
}

// Open MPI's mpirun may crash where a rank is killed while it starts. A shell that hands on the code has not crashed.
TEST_F(LauncherOnOtherHosts, that_a_signal_ends_has_failed_itself) {
  ranks_are("0");
  const auto crashed = run("kill -SEGV $$");
  EXPECT_TRUE(crashed.launcher_failed);
  EXPECT_THAT(crashed.how, testing::AllOf(cairn::test::Names({"launcher", "SIGSEGV"}),
                                          testing::Not(cairn::test::Names({"code 139"}))));
  EXPECT_FALSE(run("exit 139").launcher_failed);
}

// So mpirun of Open MPI 4 ends where it cannot start the program.
TEST_F(LauncherOnOtherHosts, that_started_no_rank_is_not_told_of_with_a_signal) {
  ranks_are("3");
  for (const char* code : {"131", "132", "134"})
    EXPECT_THAT(run(fmt::format("exit {}", code)).how, testing::EndsWith(fmt::format("code {}", code)));
}

TEST_F(LauncherOnOtherHosts, is_told_of_with_the_program_that_it_cannot_start_where_this_host_is_one_of_them) {
  ranks_are("3");
  options_.application = {file("heta")};
  EXPECT_EQ(run("exit 132").not_run, "");
  options_.hosts = {"a", "front"};
  const auto end = run("exit 134");
  EXPECT_THAT(end.not_run, cairn::test::Names({file("heta"), "No such file or directory"}));
  EXPECT_THAT(end.how, testing::EndsWith("code 134"));
  EXPECT_EQ(run("exit 0").not_run, "");
  options_.application = {"true"};
  EXPECT_EQ(run("exit 134").not_run, "");
}

TEST_F(LauncherOnOtherHosts, is_ended_at_the_start_limit_when_it_has_started_no_rank) {
  ranks_are("3");
  options_.start_limit = 2s;
  EXPECT_TRUE(run("sleep 60; exit 7").ended_here);
}

TEST_F(LauncherOnOtherHosts, may_take_its_time_to_start_ranks) {
  ranks_are("3");
  const auto end = run("sleep 3; exit 7");
  EXPECT_FALSE(end.ended_here);
  EXPECT_EQ(end.code, kOwnEnd);
}

TEST_F(LauncherOnOtherHosts, is_left_alone_where_no_host_answers) {
  ranks_are("255");
  options_.start_limit = 1s;
  const auto end = run("sleep 3; exit 7");
  EXPECT_FALSE(end.ended_here);
  EXPECT_EQ(end.code, kOwnEnd);
}

TEST_F(LauncherOnOtherHosts, is_cleaned_up_after_there_when_the_user_interrupts) {
  ranks_are("0");
  const auto end = run("kill -INT $PPID; sleep 60; exit 7");
  EXPECT_TRUE(end.interrupted);
  std::vector<std::string> hosts;
  std::ifstream cleaned(file("cleaned"));
  for (std::string host; cleaned >> host;) hosts.push_back(host);
  EXPECT_THAT(hosts, testing::UnorderedElementsAre("a", "b"));
}

// Of a life whose launcher writes marks and records, as its ranks would.
class LauncherWithMarks : public LauncherOnOtherHosts {
 protected:
  LauncherWithMarks() { ranks_are("0"); }

  // A session's mark: of the configuration that ckpt-run has, or of another.
  enum class Session { configured, another };
  [[nodiscard]] std::string leave(Session which, const cairn::CompletionMark& mark) {
    const std::string name = fmt::format("mark{}", ++files_);
    std::ofstream(file(name)) << cairn::to_text(mark);
    const std::string own = cairn::mark_of_session("", cairn::session_name(config_));
    return fmt::format("cp '{}' $(ls '{}'/.ckpt-run-*.mark){}; ", file(name), config_.storage.global,
                       which == Session::configured ? own : ".00000000");
  }
  [[nodiscard]] std::string remove_marks() const {
    return fmt::format("rm '{}'/.ckpt-run-*; ", config_.storage.global);
  }
  // A life's record.
  [[nodiscard]] std::string record(std::uint32_t incarnation, cairn::RunId run, bool finished, bool snapshots = true) {
    using cairn::RunRecord;
    const std::string name = fmt::format("record{}", ++files_);
    const cairn::Incarnation life{incarnation};
    std::ofstream(file(name)) << cairn::to_json(
        RunRecord{life, run, RunRecord::Parent::fresh, {}, snapshots, finished});
    const std::string job = fmt::format("{}/{}", config_.storage.global, config_.job.name);
    return fmt::format("mkdir -p -m 700 '{}'; cp '{}' '{}/{}'; ", job, file(name), job,
                       cairn::names::run_record(life, run).path);
  }
  // A life's record of a session that took no snapshot.
  [[nodiscard]] std::string record_without_snapshots(std::uint32_t incarnation) {
    return record(incarnation, cairn::RunId{incarnation}, false, false);
  }
  [[nodiscard]] Kind kind_after(const std::string& launcher) { return run(launcher + "exit 7").mark.kind; }

 private:
  int files_ = 0;
};

// As where a process without a session does not handle the signal: `sh` does not.
TEST_F(LauncherWithMarks, that_the_stop_signal_ends_is_asked_to_stop_once_more_and_then_no_longer) {
  const auto opened = leave(Session::configured, {Kind::opened, {}, cairn::RunId{42}});
  const auto files = JobFiles::make(config_, "here", "test").value();
  Signals signals;
  Supervisor supervisor(options_, config_, facts_, false, *files, signals, name_of_test(), {3s, 1s});
  const auto run = [&](const std::string& launcher) {
    options_.launcher = write("launcher", opened + launcher);
    return supervisor.run({place(2, {}, config_, options_.hosts, {}).value(), {}, false}).value().code;
  };
  testing::internal::CaptureStderr();
  EXPECT_EQ(run("kill -USR1 $PPID; sleep 20; exit 7"), 128 + SIGUSR1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  EXPECT_EQ(run("sleep 20; exit 7"), 128 + SIGUSR1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), cairn::test::Names({"SIGUSR1", "cairn-tap"}));
  EXPECT_EQ(run("sleep 1; exit 7"), kOwnEnd);
}

TEST_F(LauncherWithMarks, gets_the_signal_of_the_application_at_once_and_the_other_one_is_the_stop_signal) {
  const std::string tells = "trap 'echo 1 >>" + file("told") + "' USR1; trap 'echo 2 >>" + file("told") + "' USR2; ";
  const auto told_after = [&](const std::string& launcher) {
    std::ofstream(file("told")) << std::flush;
    (void)run(tells + launcher + "for i in 1 2 3 4 5; do sleep 0.3; done; exit 7");
    std::ifstream in(file("told"));
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(told_after("kill -USR1 $PPID; "), "") << "no session is open yet";
  EXPECT_EQ(told_after("kill -USR2 $PPID; "), "2\n");
  config_.restart.stop_signal = SIGUSR2;
  EXPECT_EQ(told_after("kill -USR1 $PPID; "), "1\n");
  EXPECT_EQ(told_after("kill -USR2 $PPID; "), "");
  EXPECT_EQ(told_after(leave(Session::configured, {Kind::opened, {}, cairn::RunId{42}}) + "kill -USR2 $PPID; "), "2\n");
  config_.restart.stop_signal.reset();
  EXPECT_EQ(told_after("kill -USR1 $PPID; sleep 0.5; kill -USR2 $PPID; "), "1\n2\n");
}

TEST_F(LauncherWithMarks, has_finished_once_all_sessions_have) {
  const auto finished = leave(Session::configured, {Kind::finished, {}});
  EXPECT_EQ(kind_after(finished), Kind::finished);
  EXPECT_EQ(kind_after(finished + leave(Session::another, {Kind::opened, {}})), Kind::opened);
  EXPECT_EQ(kind_after(finished + leave(Session::another, {Kind::finished, {}})), Kind::finished);
  EXPECT_EQ(kind_after(leave(Session::another, {Kind::finished, {}})), Kind::finished);
}

TEST_F(LauncherWithMarks, has_finished_if_a_life_that_it_started_is_recorded_so_and_left_no_mark) {
  constexpr cairn::RunId kRun{42};
  const auto opened = leave(Session::configured, {Kind::opened, {}, kRun});
  EXPECT_EQ(kind_after(opened + record(1, kRun, false)), Kind::opened);
  EXPECT_EQ(kind_after(opened + record(2, kRun, true)), Kind::finished);
  // That record is now one of before.
  EXPECT_EQ(kind_after(opened), Kind::opened);
  EXPECT_EQ(kind_after(remove_marks()), Kind::none);
  EXPECT_EQ(kind_after(remove_marks() + record(3, kRun, true)), Kind::finished);
  EXPECT_EQ(kind_after(remove_marks() + record(4, kRun, false)), Kind::none);
}

TEST_F(LauncherWithMarks, has_snapshots_if_a_life_of_the_job_took_some) {
  const auto opened = leave(Session::configured, {Kind::opened, {}});
  EXPECT_EQ(run("exit 7").kept, false);
  EXPECT_EQ(run(opened + record_without_snapshots(1) + "exit 7").kept, false);
  // Another job's records are not known.
  EXPECT_EQ(run(opened + leave(Session::another, {Kind::opened, {}}) + "exit 7").kept, std::nullopt);
  EXPECT_EQ(run(record(2, cairn::RunId{2}, false) + "exit 7").kept, true);
  EXPECT_EQ(run("exit 7").kept, true);
}

TEST_F(LauncherWithMarks, has_not_finished_while_a_later_session_is_open) {
  const auto record_of_first = record(1, cairn::RunId{42}, true);
  EXPECT_EQ(kind_after(record_of_first + leave(Session::configured, {Kind::opened, {}})), Kind::opened);
  EXPECT_EQ(kind_after(record(2, cairn::RunId{42}, true) + leave(Session::configured, {Kind::opened, {}, {43}})),
            Kind::opened);
  EXPECT_EQ(kind_after(record(3, cairn::RunId{42}, true) + leave(Session::configured, {Kind::opened, {}, {42}}) +
                       leave(Session::another, {Kind::opened, {}})),
            Kind::opened);
}

}  // namespace
}  // namespace ckpt_run
