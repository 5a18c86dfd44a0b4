// What a job has measured of itself over all its lives: what a snapshot at each level costs, how long a restore from it
// takes, and how many failures needed it. costs.json of the global store; FORMAT.md lists the keys.
//
// Nothing that can be restored hangs on it: a job whose file is lost or damaged measures again. Pure.
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
  double mtbf = 0;      // that the schedule went by
  std::uint64_t failures = 0;
  friend bool operator==(const LevelCosts&, const LevelCosts&) = default;
};

struct JobCosts {
  std::array<LevelCosts, kLevels> levels;
  double observed = 0;  // seconds that lives of the job have run, as far as they were noted
  Incarnation life;     // the last that wrote this
  bool ended = false;   // that life came to the end of finalize: what follows was no failure
  friend bool operator==(const JobCosts&, const JobCosts&) = default;
};

// Inverse pair; errors as of manifests.
[[nodiscard]] std::string to_json(const JobCosts& measured, const Sealer& sealer = {});
[[nodiscard]] Result<JobCosts> parse_job_costs(const std::string& text, const Sealer& sealer = {});

}  // namespace cairn
