// What a job has measured about itself in all its lives: what a snapshot at each level costs, how long a restore from
// it takes, and how many failures needed it. costs.json of the global store; FORMAT.md lists the keys.
//
// No restore depends on it: a job whose file is lost or damaged measures again. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/sealer.hpp"

namespace cairn {

// Seconds; 0: not known.
struct LevelCosts {
  double cost = 0;      // a moving average
  double recovery = 0;  // the last one
  double mtbf = 0;      // that the schedule used
  std::uint64_t failures = 0;
  friend bool operator==(const LevelCosts&, const LevelCosts&) = default;
};

struct JobCosts {
  std::array<LevelCosts, kLevels> levels;
  double observed = 0;  // seconds that the job's lives have run, as far as they were recorded
  Incarnation life;     // the last that wrote this
  bool ended = false;   // that life reached the end of finalize, so the start after it does not follow a failure
  friend bool operator==(const JobCosts&, const JobCosts&) = default;
};

// Inverse pair; the same errors as for manifests.
[[nodiscard]] std::string to_json(const JobCosts& measured, const Sealer& sealer = {});
[[nodiscard]] Result<JobCosts> parse_job_costs(const std::string& text, const Sealer& sealer = {});

}  // namespace cairn
