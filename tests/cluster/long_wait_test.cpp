// Ranks that wait for long for one that does not come: it is named, in the log and in their errors.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"
#include "support/temp_directory.hpp"

namespace cairn::test {
namespace {

// What the process writes to stderr meanwhile, to be read while it goes on.
class StderrFile {
 public:
  StderrFile() {
    const int file = open(path().c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    dup2(file, STDERR_FILENO);
    close(file);
  }
  ~StderrFile() {
    dup2(before_, STDERR_FILENO);
    close(before_);
  }
  StderrFile(const StderrFile&) = delete;
  StderrFile& operator=(const StderrFile&) = delete;

  [[nodiscard]] std::string text() const {
    std::stringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }
  // Until a line names all of `things`.
  void wait_for(const Things& things) const {
    while (lines_that_name(text(), things).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

 private:
  [[nodiscard]] std::string path() const { return directory_.path() + "/stderr"; }

  TempDirectory directory_{"/tmp"};
  int before_ = dup(STDERR_FILENO);
};

std::chrono::microseconds ten_times_as_fast(std::uint32_t world_rank) { return 10 * real_time(world_rank); }

constexpr const char* kSettings =
    "[storage]\nkeep_local = 1\n[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n";

class LongWait : public testing::TestWithParam<const char*> {
 protected:
  LongWait() {
    job.clock = ten_times_as_fast;
    job.log_level = "warning";
  }
  Job job{{3, 2, 2}, std::string(kSettings) + "[head]\nmode = " + GetParam() + "\n"};
};

INSTANTIATE_TEST_SUITE_P(modes, LongWait, testing::Values("rank", "thread", "inline"),
                         [](const auto& info) { return std::string(info.param); });

// All ranks but the last, which comes once it is named. `calls`: one of what they wait in.
void expect_the_last_to_be_named(Job& job, const std::vector<std::string>& calls,
                                 const std::function<void(JobSession&)>& wait) {
  const StderrFile log;
  job.run([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    const std::uint32_t last = session.size() - 1;
    if (session.rank() == last) log.wait_for({fmt::format("rank {}", last), "node 2"});
    wait(session);
  });
  const auto is_named_for = [&](const std::string& call) {
    return !lines_that_name(log.text(), {call, "node 2"}).empty();
  };
  EXPECT_TRUE(std::ranges::any_of(calls, is_named_for)) << log.text();
}

TEST_P(LongWait, in_finalize_is_told) {
  expect_the_last_to_be_named(job, {"finalize()"}, [](JobSession&) {});
}

TEST_P(LongWait, for_a_snapshot_is_told) {
  // A rank that is a head returns from snapshot() when its work is done.
  expect_the_last_to_be_named(job, {"snapshot()", "wait()"}, [](JobSession& session) {
    session.snapshot();
    session.wait(LevelId::local);
  });
}

TEST_P(LongWait, in_restore_is_told) {
  expect_the_last_to_be_named(job, {"restore()"}, [](JobSession& session) { session.restore(); });
}

// The ranks agree on time inside snapshot(): those who come first wait there.
TEST_P(LongWait, in_snapshot_is_told) {
  expect_the_last_to_be_named(job, {"snapshot()"}, [](JobSession& session) {
    for (int i = 0; i < 3; ++i) session.snapshot();
  });
}

TEST(WaitLimit, that_is_over_names_who_is_missing) {
  Job job({3, 2, 2}, std::string(kSettings) +
                         "[job]\non_storage_error = throw\n[head]\nwait_limit = 1h\n[restart]\nstop_signal = "
                         "off\n[localize]\nact = tell\n");
  job.log_level = "warning";
  const StderrFile log;
  std::atomic<int> hours{0};
  std::atomic<int> told{0};
  job.clock = [&](std::uint32_t world_rank) { return ten_times_as_fast(world_rank) + std::chrono::hours(hours); };
  job.run_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    if (session.rank() == 3) {
      log.wait_for({"rank 3", "node 2"});
      // Some ranks may not have begun to wait yet.
      while (told < 3) {
        hours += 2;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      return;
    }
    steps.advance_by(3);
    EXPECT_THAT(thrown_by([&] { steps.advance(); }),
                Fails(ErrorKind::storage, {"version 1", "version 3", "rank 3", "node 2"}));
    ++told;
  });
}

// A head that computes answers nothing, and the next rank of its node says so.
TEST(SilentHead, that_computes_is_told_of_by_a_rank_of_its_node) {
  Job job({3}, std::string(kSettings) + "[head]\nmode = inline\n");
  job.clock = ten_times_as_fast;
  job.log_level = "warning";
  const StderrFile log;
  job.run([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    if (session.rank() == 0) log.wait_for({"rank 1", "rank 0", "node 0"});
  });
  EXPECT_THAT(log.text(), Names({"rank 1", "finalize()", "rank 0", "node 0"}));
}

}  // namespace
}  // namespace cairn::test
