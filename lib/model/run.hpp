// One life of a simulated job, from its start to its end (see simulation.hpp for the rules). Used up by one call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>

#include "base/ids.hpp"
#include "model/simulation.hpp"

namespace cairn::model {

struct RunOutcome {
  double total = 0;  // seconds
  double checkpoints = 0;
  double recovery = 0;
  std::array<std::uint32_t, kLevels> failures{};
  bool finished = false;
};

class Run {
 public:
  // Keeps a reference to the experiment.
  Run(const Experiment& experiment, std::uint64_t seed, std::uint32_t number);
  [[nodiscard]] RunOutcome play();

 private:
  using Failure = std::optional<std::size_t>;  // of which level
  struct Source {
    std::uint64_t slot;
    std::size_t level;
  };

  // Lets `seconds` pass, or the time up to the next failure if that is shorter, and adds the time to `account`.
  Failure pass(double seconds, double& account);
  [[nodiscard]] Failure work_to_next_slot();
  // Takes the levels due at this slot that are above the highest stored here.
  [[nodiscard]] Failure take_snapshot();
  // Whether survivors keep their state after a failure, which has struck work or something else.
  [[nodiscard]] bool keeps(std::size_t level, bool working) const;
  // Until the job works again; `keep`: survivors keep their state.
  void recover(std::size_t level, bool keep);
  [[nodiscard]] Source newest_from(std::size_t level) const;
  [[nodiscard]] double position_of(std::uint64_t slot) const;
  [[nodiscard]] bool impatient() const;
  void draw_failure();
  [[nodiscard]] double uniform();

  const Experiment& experiment_;
  std::mt19937_64 random_;
  double rate_ = 0;
  double interval_;
  std::array<std::uint64_t, kLevels> every_{};
  RunOutcome outcome_;
  double next_failure_ = 0;
  double done_ = 0;                                             // seconds of work that count
  std::uint64_t slot_ = 0;                                      // snapshots passed up to done_
  std::array<std::optional<std::uint64_t>, kLevels> stored_{};  // by level, the slot of the newest snapshot
};

}  // namespace cairn::model
