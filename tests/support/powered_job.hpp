// A Job whose nodes and global store lose power, all at once, and with it what they had not synced: and what an
// application was told before, so that it can be held against what comes back.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "support/forgetful_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {

// Of steps. Ranks write it together.
struct Told {
  std::atomic<std::uint32_t> tried{0};
  std::array<std::atomic<std::uint32_t>, 4> safe{};  // the newest, by level
  std::atomic<bool> ending{false};                   // some rank called finalize to end the chain
  std::atomic<std::uint32_t> ended{0};               // ranks that came back from it

  void is_tried(std::uint32_t step);
  void is_safe(LevelId level, std::uint32_t step);
  [[nodiscard]] std::uint32_t newest(LevelId level) const { return safe.at(static_cast<std::size_t>(level) - 1); }
};

class PoweredJob {
 public:
  PoweredJob(std::vector<std::uint32_t> ranks, const std::string& settings);
  PoweredJob(const PoweredJob&) = delete;
  PoweredJob& operator=(const PoweredJob&) = delete;

  Job job;
  // crash_at(n, true): the power goes at the n-th operation of all stores.
  std::shared_ptr<FaultPlan> power = std::make_shared<FaultPlan>();
  std::shared_ptr<SyncPlaces> syncs = std::make_shared<SyncPlaces>();

  // The power goes, unless it is gone, and comes back. See ForgetfulDisk for the seed.
  void lose_power(std::uint64_t seed);
  void lose(std::uint32_t node);
  void lose_global_snapshots();
  void put_back(const Job::Image& image);

 private:
  void reload();

  std::vector<std::shared_ptr<ForgetfulDisk>> nodes_;
  std::shared_ptr<ForgetfulDisk> global_;
};

// The application: its state at every step is known, and it notes what it is told. One object for one session.
class TellingSteps {
 public:
  TellingSteps(JobSession& session, Told& told);

  // Whether what came back is the state of some step; of none, if nothing did.
  [[nodiscard]] bool restore();
  // Computes a step and calls snapshot().
  void advance();
  // Waits for all levels, and notes which step is safe there.
  void wait();
  // `ends_chain`: as [restart] at_end says.
  void finalize(bool ends_chain);

  [[nodiscard]] std::uint32_t step() const { return step_; }

 private:
  JobSession& session_;
  Told& told_;
  std::vector<double> state_;
  std::uint32_t step_ = 0;
  std::map<std::uint32_t, std::uint32_t> steps_;  // by version, of this life
};

// What is left of a job after a cut.
struct Left {
  std::set<std::uint32_t> steps;  // that ranks went on from; 0: started fresh
  bool wrong = false;             // some rank got other bytes than it had
  std::string error;              // that kept the job from going on; empty: none
};
// Starts the job again and looks at what comes back; takes `goes_on` more steps and ends, or dies if there are none.
[[nodiscard]] Left reopen(Job& job, std::uint32_t goes_on);

// What of the promises is broken when this is left and the levels from `level` up have survived; empty: nothing.
[[nodiscard]] std::string broken(const Told& told, const Left& left, LevelId level);

}  // namespace cairn::test
