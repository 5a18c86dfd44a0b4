// Whose stores a rehearsal uses, and removes.
#include "rehearsal_scratch.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_directory.hpp"

namespace ckpt_run {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

class Scratches : public testing::Test {
 protected:
  Scratches() {
    config_.job.name = "heat";
    config_.storage.global = root_.path() + "/global";
    config_.storage.local = root_.path() + "/local";
    fs::create_directories(config_.storage.global);
    fs::create_directories(config_.storage.local + "/node0001");
  }

  [[nodiscard]] std::optional<RehearsalScratch> make(const std::string& host = "login1") const {
    auto made = RehearsalScratch::make(config_, host);
    EXPECT_TRUE(made.has_value());
    return made ? std::optional(std::move(*made)) : std::nullopt;
  }
  // As a run leaves them.
  void leave_stores(const std::string& job) const {
    for (const std::string& store : {config_.storage.global, config_.storage.local + "/node0001"}) {
      fs::create_directories(fs::path(store) / job);
      std::ofstream(fs::path(store) / job / "file") << "bytes";
    }
  }
  // Names in the global store and in that of the node.
  [[nodiscard]] std::vector<std::string> left() const {
    std::vector<std::string> names;
    for (const std::string& store : {config_.storage.global, config_.storage.local + "/node0001"})
      for (const auto& entry : fs::directory_iterator(store)) names.push_back(entry.path().filename().string());
    return names;
  }

  cairn::test::TempDirectory root_{"/tmp"};
  cairn::Config config_;
};

// Runs `work` in a process of its own, which work ends by die().
void in_killed_process(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) work();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

void die() { (void)::raise(SIGKILL); }

TEST_F(Scratches, of_one_rehearsal_are_removed_with_it) {
  {
    const auto scratch = make();
    leave_stores(scratch->job("failing"));
    fs::create_directory(scratch->directory("failing"));
  }
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(Scratches, of_two_rehearsals_at_once_are_not_the_same) {
  auto one = make();
  leave_stores(one->job("failing"));
  const auto before = left();
  {
    const auto other = make();
    EXPECT_NE(other->job("failing"), one->job("failing"));
    leave_stores(other->job("failing"));
  }
  EXPECT_EQ(left(), before);
  one.reset();
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(Scratches, of_killed_rehearsals_are_removed_by_the_next) {
  in_killed_process([&] {
    const auto one = make(), other = make();
    leave_stores(one->job("again"));
    leave_stores(other->job("failing"));
    die();
  });
  EXPECT_EQ(left().size(), 6U);
  {
    const auto next = make();
    EXPECT_EQ(left().size(), 1U) << "its own mark";
  }
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(Scratches, of_a_killed_rehearsal_whose_runs_live_are_left_alone) {
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  in_killed_process([&] {
    const auto scratch = make();
    leave_stores(scratch->job("failing"));
    // What it has started, until the other end of the pipe is closed.
    if (::fork() == 0) {
      ::close(ends[1]);
      char byte = 0;
      (void)!::read(ends[0], &byte, 1);
      ::_exit(0);
    }
    die();
  });
  const auto before = left();
  EXPECT_EQ(before.size(), 3U);
  {
    const auto next = make();
    EXPECT_EQ(left().size(), 4U);
  }
  EXPECT_EQ(left(), before);
  ::close(ends[1]);
  ::close(ends[0]);
}

TEST_F(Scratches, of_other_jobs_and_other_hosts_are_left_alone) {
  leave_stores("heat.rehearsal-again");
  leave_stores("heat.rehearsal-0123abcd-again");
  fs::create_directories(config_.storage.global + "/.heat.rehearsal-login2-0123abcd");
  fs::create_directories(config_.storage.global + "/.heat.rehearsal-login1-0123abcde");
  fs::create_directories(config_.storage.global + "/.heat2.rehearsal-login1-0123abcd");
  const auto before = left();
  (void)make();
  EXPECT_EQ(left(), before);
}

TEST_F(Scratches, have_names_that_a_job_may_have) {
  config_.job.name = std::string(128, 'x');
  EXPECT_LE(make()->job("undisturbed").size(), 128U);
}

}  // namespace
}  // namespace ckpt_run
