// What `plan` and `simulate` know about a machine: what each level costs, and how often it is needed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "model/pattern.hpp"

namespace ckpt_tool {

// As on the command line. Lists have one entry a level, lowest first; times are 0.5s, 90s, 10min, 12h, 3d or 5y.
struct ScenarioOptions {
  std::vector<std::string> costs;
  std::vector<std::string> recoveries;  // empty: as long as the checkpoint takes
  std::vector<std::string> mtbfs;       // or "never"
  std::string node_mtbf;                // instead of mtbfs, with the next two
  std::uint32_t nodes = 0;
  std::vector<double> shares;  // of the failures, by level; sum 1
  // JSON file: {"levels": [{"cost": 1, "recovery": 0.5, "mtbf": 1800}, …]}, in seconds. Entries may name their "level";
  // one that does and has no cost was not measured, and its failures count for the next level above. A job's costs.json
  // has this form.
  std::string measured;
  std::vector<unsigned> numbers;  // which of L1 … L4 they are; empty: from L1 up
};

struct Scenario {
  std::vector<cairn::LevelId> ids;
  std::vector<cairn::model::LevelModel> levels;
};

// The command line overrides the file. Errors: invalid_argument, not_found, corrupt.
[[nodiscard]] cairn::Result<Scenario> read_scenario(const ScenarioOptions& options);

// Seconds; never is infinite.
[[nodiscard]] cairn::Result<double> parse_seconds(const std::string& text);

// "L1 every 60 s, L2 every 11 min"; "no snapshots".
[[nodiscard]] std::string pattern_text(const Scenario& scenario, const cairn::model::Pattern& pattern);

// The same machine with all MTBFs `factor` times as long.
[[nodiscard]] Scenario with_mtbf(Scenario scenario, double factor);
// Of failures of any level; infinite: there are none.
[[nodiscard]] double overall_mtbf(const Scenario& scenario);

}  // namespace ckpt_tool
