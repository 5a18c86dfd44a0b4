// One rank leaves its session without the others, and they go on: each of their calls ends, and those that need the
// rank end with an error that names it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using testing::Each;

constexpr std::uint32_t kWho = 1;                       // on node 0, whose head it is not
const Things kLeft = {"rank 1", "node 0", "finalize"};  // who has left, and what it has not called

struct When {
  const char* name;
  std::uint32_t calls;  // of snapshot(), before the rank leaves
  bool waits;           // until its last snapshot is safe
};

struct Pace {
  const char* name;
  const char* l1;
  const char* stop_signal;
};

class LeftBehind : public testing::TestWithParam<std::tuple<const char*, Pace, When>> {
 protected:
  LeftBehind() {
    job.limit = std::chrono::seconds(30);
    job.clock = [this](std::uint32_t) { return std::chrono::seconds(calls_.load()); };
  }
  [[nodiscard]] static std::string settings() {
    const auto& [mode, pace, when] = GetParam();
    return fmt::format(
        "[head]\nmode = {}\n[levels]\nl1 = {}\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n"
        "stop_signal = {}\n",
        mode, pace.l1, pace.stop_signal);
  }
  [[nodiscard]] static bool takes_all() { return std::get<1>(GetParam()).l1 == std::string("every 1"); }
  [[nodiscard]] static When when() { return std::get<2>(GetParam()); }

  // All ranks up to the moment at which one of them leaves; whether it is this one.
  bool leaves(JobSession& session, Steps& steps) {
    steps.restore();
    for (std::uint32_t i = 0; i < when().calls; ++i) advance(steps);
    if (when().waits) session.wait(LevelId::local);
    if (session.rank() != kWho) return false;
    const JobSession gone(std::move(session));
    return true;
  }
  void advance(Steps& steps) {
    ++calls_;
    steps.advance();
  }
  // The first error of those who go on.
  Thrown told_in_time(JobSession& session, Steps& steps) {
    Thrown told;
    while (told.empty()) told = thrown_by([&] { advance(steps); }, [&] { session.wait(LevelId::local); });
    return told;
  }
  void expect_end(JobSession& session) {
    EXPECT_THAT(thrown_by([&] { session.finalize(); }), Fails(Code::failed_elsewhere, kLeft));
  }
  void note_safe(JobSession& session) {
    const std::uint32_t safe = session.safe_version(LevelId::local);
    for (std::uint32_t known = safe_; known < safe && !safe_.compare_exchange_weak(known, safe);) continue;
  }
  // What was told to be safe comes back.
  void expect_nothing_lost() {
    job.run([&](JobSession& session) { EXPECT_GE(Steps(session).restore(), safe_) << "rank " << session.rank(); });
  }

  Job job{{3, 2, 2}, settings()};

 private:
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint32_t> safe_{0};
};

INSTANTIATE_TEST_SUITE_P(
    modes, LeftBehind,
    testing::Combine(testing::Values("rank", "thread", "inline"),
                     testing::Values(Pace{"at_all_calls", "every 1", "on"}, Pace{"by_count_alone", "every 1", "off"},
                                     Pace{"in_time", "3s", "on"}, Pace{"in_time_alone", "3s", "off"},
                                     Pace{"on_auto", "auto", "off"}),
                     testing::Values(When{"before_a_snapshot", 0, false}, When{"after_one", 1, false},
                                     When{"after_some", 4, false}, When{"after_a_wait", 4, true})),
    [](const auto& info) {
      return fmt::format("{}_{}_{}", std::get<0>(info.param), std::get<1>(info.param).name,
                         std::get<2>(info.param).name);
    });

TEST_P(LeftBehind, ranks_hear_who_has_left_in_each_call_that_needs_it) {
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    if (leaves(session, steps)) return;
    EXPECT_THAT(told_in_time(session, steps), Fails(ErrorKind::communication, kLeft)) << "rank " << session.rank();
    const std::vector<Thrown> later = {thrown_by([&] { advance(steps); }),
                                       thrown_by([&] { steps.advance_to(LevelId::local); }),
                                       thrown_by([&] { steps.restore(); }), thrown_by([&] { advance(steps); })};
    EXPECT_THAT(later, Each(testing::Not(testing::IsEmpty()))) << "rank " << session.rank();
    EXPECT_THAT(later.front(), Fails(ErrorKind::communication, kLeft)) << "rank " << session.rank();
    EXPECT_THAT(later[2], Fails(ErrorKind::communication, kLeft)) << "rank " << session.rank();
    note_safe(session);
    // The restore waited for all snapshots that the rank still took part in.
    if (takes_all()) {
      EXPECT_EQ(session.safe_version(LevelId::local), when().calls) << "rank " << session.rank();
    }
    expect_end(session);
  });
  expect_nothing_lost();
}

// A rank that is a head does so once all know: it takes with it what others may still wait for.
TEST_P(LeftBehind, ranks_may_drop_their_sessions_too) {
  std::atomic<std::uint32_t> informed{0};
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    if (leaves(session, steps)) return;
    EXPECT_THAT(told_in_time(session, steps), Fails(ErrorKind::communication, kLeft));
    note_safe(session);
    ++informed;
    while (informed < session.size() - 1) std::this_thread::yield();
    const JobSession gone(std::move(session));
  });
  expect_nothing_lost();
}

// They do not all hear of it at the same moment, nor make the same calls then.
TEST_P(LeftBehind, ranks_may_go_on_with_different_calls) {
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    if (leaves(session, steps)) return;
    if (session.rank() == 0) {
      EXPECT_THAT(told_in_time(session, steps), Fails(ErrorKind::communication, kLeft));
    } else if (session.rank() == 2) {
      EXPECT_THAT(thrown_by([&] { steps.restore(); }), Fails(ErrorKind::communication, kLeft));
    }
    note_safe(session);
    expect_end(session);
  });
  expect_nothing_lost();
}

// Of a restore that an exception ends on one rank alone.
class BrokenRestore : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(modes, BrokenRestore, testing::Values("rank", "thread", "inline"),
                         [](const auto& info) { return std::string(info.param); });

// A region that cannot have the room that it needs.
struct NoRoom {
  using value_type = double;
  std::vector<double> elements;
  void resize(std::size_t) { throw std::bad_alloc(); }
  double* data() { return elements.data(); }
  [[nodiscard]] std::size_t size() const { return elements.size(); }
};

TEST_P(BrokenRestore, of_one_rank_that_leaves_ends_for_the_others) {
  Job job({3, 2, 2}, fmt::format("[head]\nmode = {}\n[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n"
                                 "[restart]\nat_end = continue\n",
                                 GetParam()));
  job.limit = std::chrono::seconds(30);
  take_steps(job, 2);
  job.run_well_and_die([](JobSession& session) {
    if (session.rank() == kWho) {
      NoRoom state;
      std::uint32_t step = 0;
      session.protect("state", state);
      session.protect("step", step);
      EXPECT_THROW(session.restore(), std::bad_alloc);
      const JobSession gone(std::move(session));
      return;
    }
    Steps steps(session);
    EXPECT_THAT(thrown_by([&] { steps.restore(); }), Fails(Code::failed_elsewhere, {"rank 1"}))
        << "rank " << session.rank();
    EXPECT_THAT(thrown_by([&] { session.finalize(); }), Fails(Code::failed_elsewhere, kLeft))
        << "rank " << session.rank();
  });
  expect_restore(job, 2);
}

}  // namespace
}  // namespace cairn::test
