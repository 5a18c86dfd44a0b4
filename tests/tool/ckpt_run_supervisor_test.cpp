// How ckpt-run watches a launcher whose ranks are on other hosts. Launcher and agent are scripts: the agent says of
// every host what the file `ranks` says.
#include "supervisor.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "placement.hpp"
#include "support/temp_directory.hpp"

namespace ckpt_run {
namespace {

using namespace std::chrono_literals;
using cairn::Config;

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

  void ranks_are(const std::string& code) { std::ofstream(file("ranks")) << code << "\n"; }

  // Questions are further apart than looks, so that there are looks between them.
  LifeEnd run(const std::string& launcher) {
    options_.launcher = write("launcher", launcher);
    const auto files = JobFiles::make(config_, "here", "test").value();
    Signals signals;
    Supervisor supervisor(options_, config_, facts_, false, *files, signals,
                          fmt::format("test-supervisor-{}", ::getpid()), {3s, 1s});
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

}  // namespace
}  // namespace ckpt_run
