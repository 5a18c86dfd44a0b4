// An application for tests whose state at every step is known, so that what comes back can be compared byte by byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cairn/session_base.hpp>

#include "store/memory/memory_store.hpp"

namespace cairn::test {

class Job;

inline constexpr LevelId kEveryLevel[] = {LevelId::local, LevelId::partner, LevelId::erasure, LevelId::global};

// Protects "state" and "step", a state of about `about` doubles. One object for one session, which must not outlive it.
class Steps {
 public:
  explicit Steps(SessionBase& session, std::size_t about = 1000);

  // Returns the step that it goes on from, 0 at a fresh start; what came back must be the state of that step;
  // version 0: the newest.
  std::uint32_t restore(std::uint32_t version = 0);
  // The same for a label.
  std::uint32_t restore_label(const std::string& label);
  // Computes a step.
  void compute();
  // Computes a step and calls snapshot().
  std::optional<std::uint32_t> advance();
  // Calls advance() `count` times.
  void advance_by(std::uint32_t count);
  // The same for one snapshot for a level.
  std::uint32_t advance_to(LevelId level);
  // Waits until all that is meant for any level is safe there.
  void wait_for_all();

  [[nodiscard]] std::uint32_t step() const { return step_; }

 private:
  [[nodiscard]] std::uint32_t check(const RestoreReport& report) const;

  SessionBase& session_;
  std::size_t about_;
  std::vector<double> state_;
  std::uint32_t step_ = 0;
};

// A life of the job that goes on for `count` steps, until all that is meant for any level is safe, and dies then.
void take_steps(Job& job, std::uint32_t count);
// A life that goes on from `step` on every rank, and dies then.
void expect_restore(Job& job, std::uint32_t step);

// What lies in a store: versions of snapshot directories, and how many of them have no manifest.
struct Contents {
  std::vector<std::uint32_t> versions;
  std::uint32_t without_manifest = 0;
  std::uint32_t partial = 0;
};
[[nodiscard]] Contents contents_of(const MemoryStore& store);

}  // namespace cairn::test
