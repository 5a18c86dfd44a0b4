// The power goes for the whole job at some store operation, and every store forgets what was not synced: what was told
// to be safe comes back after all the losses that its level survives, and a chain that was finished stays finished.
#include <cstdint>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "support/powered_job.hpp"

namespace cairn::test {
namespace {

constexpr std::uint32_t kStepsToCut = 3;
constexpr std::uint64_t kNever = 1'000'000;  // operations

std::string settings(const std::string& at_end) {
  return "[job]\non_storage_error = throw\n[storage]\nkeep_local = 1\n[levels]\nl1 = every 1\nl2 = every 1\n"
         "l3 = every 2\nl4 = every 2\n[erasure]\ngroup = 3\nparity = 1\n[restart]\nat_end = " +
         at_end + "\n";
}

struct Losing {
  LevelId level;  // the lowest that survives
  void (*lose)(PoweredJob& cut, std::uint64_t n);
};

constexpr Losing kLosses[] = {
    {LevelId::local, [](PoweredJob&, std::uint64_t) {}},
    {LevelId::partner, [](PoweredJob& cut, std::uint64_t n) { cut.lose(n % cut.job.nodes()); }},
    {LevelId::global,
     [](PoweredJob& cut, std::uint64_t) {
       for (std::uint32_t node = 0; node < cut.job.nodes(); ++node) cut.lose(node);
     }},
};

// Takes steps and waits for their levels, after each or at the end.
void live(JobSession& session, Told& told, bool wait_each, bool finishes) {
  try {
    TellingSteps steps(session, told);
    EXPECT_TRUE(steps.restore());
    for (std::uint32_t i = 0; i < kStepsToCut; ++i) {
      steps.advance();
      if (wait_each || i + 1 == kStepsToCut) steps.wait();
    }
    steps.finalize(finishes);
  } catch (const Exception&) {
    session.kill_job();
    throw;
  }
}

// A life whose power goes at the n-th operation, unless it comes to its end before.
bool live_until(PoweredJob& cut, Told& told, std::uint64_t n, const std::string& at_end) {
  cut.power->crash_at(n, true);
  cut.job.run_and_die([&](JobSession& session) { live(session, told, n % 2 == 0, at_end == "finished"); });
  const bool gone = cut.power->has_failed();
  cut.lose_power(n / 2);
  return gone;
}

void expect_promises_kept(PoweredJob& cut, const Told& told, std::uint64_t n) {
  const Job::Image left = cut.job.image();
  for (const Losing& losing : kLosses) {
    cut.put_back(left);
    losing.lose(cut, n);
    EXPECT_EQ(broken(told, reopen(cut.job, losing.level == LevelId::local ? 2 : 0), losing.level), "")
        << "L" << static_cast<int>(losing.level) << " and above survive";
  }
}

// Whether the power went before the end.
bool cut_at(std::uint64_t n, const std::string& at_end) {
  SCOPED_TRACE("power cut at operation " + std::to_string(n) + ", " + at_end);
  PoweredJob cut({2, 2, 2}, settings(at_end));
  Told told;
  const bool gone = live_until(cut, told, n, at_end);
  expect_promises_kept(cut, told, n);
  return gone;
}

void sweep(std::uint64_t stride, const std::string& at_end) {
  bool gone = true;
  for (std::uint64_t n = 0; gone && !testing::Test::HasFailure(); n += stride) {
    ASSERT_LT(n, 10000U) << "the sweep does not come to an end";
    gone = cut_at(n, at_end);
  }
}

TEST(PowerCut, at_any_operation_takes_nothing_that_was_told_to_be_safe) { sweep(17, "continue"); }
TEST(PowerCut, at_any_operation_leaves_a_finished_chain_finished) { sweep(29, "finished"); }

// A node is lost before; the life that the cut ends restores, and makes again what was lost.
TEST(PowerCut, of_a_life_that_mends_a_loss_takes_nothing_that_was_told_to_be_safe_beyond_it) {
  bool gone = true;
  for (std::uint64_t n = 1; gone && !HasFailure(); n += 23) {
    SCOPED_TRACE("power cut at operation " + std::to_string(n));
    PoweredJob cut({2, 2, 2}, settings("continue"));
    Told told;
    live_until(cut, told, kNever, "continue");
    cut.lose(n % cut.job.nodes());
    gone = live_until(cut, told, n, "continue");
    const Job::Image left = cut.job.image();
    EXPECT_EQ(broken(told, reopen(cut.job, 2), LevelId::partner), "");
    cut.put_back(left);
    for (std::uint32_t node = 0; node < cut.job.nodes(); ++node) cut.lose(node);
    EXPECT_EQ(broken(told, reopen(cut.job, 0), LevelId::global), "") << "all nodes lost";
  }
}

// What the first cut has brought back, and left half done, is there when the next life works.
TEST(PowerCut, of_life_after_life_takes_nothing_that_was_told_to_be_safe) {
  std::mt19937_64 random(7);
  std::uniform_int_distribution<std::uint64_t> when(20, 400);
  for (int turn = 0; turn < 25 && !HasFailure(); ++turn) {
    PoweredJob cut({2, 2, 2}, settings("continue"));
    Told told;
    std::string at = "power cuts at operations";
    std::uint64_t n = 0;
    for (int life = 0; life < 3; ++life) {
      n = when(random);
      at += " " + std::to_string(n);
      live_until(cut, told, n, "continue");
    }
    SCOPED_TRACE(at);
    expect_promises_kept(cut, told, n);
  }
}

}  // namespace
}  // namespace cairn::test
