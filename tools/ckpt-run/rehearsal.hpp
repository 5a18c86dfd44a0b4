// ckpt-run --rehearse: runs a program once undisturbed and once with failures, and compares what the two runs end with.
// Both are runs of ckpt-run, as jobs of other names, so that the job's own snapshots stay as they are. A snapshot is
// taken at each snapshot() call. If the runs differ, a second undisturbed run shows whether the program repeats its
// results at all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "config/config.hpp"
#include "options.hpp"
#include "rehearsal_findings.hpp"
#include "run_difference.hpp"
#include "session/rehearsal.hpp"
#include "signals.hpp"

namespace ckpt_run {

// What has been found out.
struct Rehearsed {
  std::uint64_t calls = 0;        // of snapshot(), in the undisturbed run
  std::uint64_t calls_after = 0;  // the same in the run with failures
  std::vector<cairn::PlannedDeath> deaths;
  std::vector<cairn::PlannedDeath> not_died;  // those of them that did not come
  RunDifference difference;
  std::optional<RunDifference> repeated = {};  // of two undisturbed runs; none: there was one only
  std::vector<RehearsalFinding> findings = {};
  LongestQuiet quiet = {};
  std::optional<cairn::Error> failed = {};  // why the runs could not be made, or compared
  [[nodiscard]] bool has_same_result() const {
    return !failed && calls == calls_after && not_died.empty() && difference.none();
  }
};

// Deaths of `kills` ranks of `ranks`, at calls that are spread over all but the first; fewer if there are not so many
// calls. From a restored call to the next death the program makes an odd number of calls, where there is a choice: two
// arrays that it swaps at each call are then in the other's place. Pure.
[[nodiscard]] std::vector<cairn::PlannedDeath> draw_deaths(std::uint64_t calls, std::uint32_t ranks,
                                                           std::uint32_t kills, std::uint64_t seed);

// In lines: what was found on the way, what was done, what differs, and what the usual causes are.
[[nodiscard]] std::string text_of(const Rehearsed& rehearsed, double tolerance);
// The same for programs; rehearsal.md describes it.
[[nodiscard]] std::string json_of(const Rehearsed& rehearsed, double tolerance);

// `arguments`: the command line of the runs. `say` prints lines.
[[nodiscard]] Rehearsed rehearse(const Options& options, const std::vector<std::string>& arguments,
                                 const cairn::Config& config, Signals& signals,
                                 const std::function<void(const std::string&)>& say);

}  // namespace ckpt_run
