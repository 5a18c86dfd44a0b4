// Simulates a job with its failures many times: what a pattern of snapshots really costs, also if failures are so
// frequent that the formulas of pattern.hpp no longer hold. The model follows Bondarenko, Lyakhov, Yakobovskiy 2019,
// DOI 10.14529/cmse190205. Pure and seeded: the same numbers come out whatever the number of threads.
//
// The rules, including our choices where the paper leaves one open:
// - Failures of each level come at exponentially distributed times of the clock: during work, checkpoints, recoveries,
//   and work done again. A failure of level j destroys what is stored below level j.
// - The schedule counts work that is not lost: a snapshot is due after each Pattern::interval() of it, whenever
//   failures happen. There is none at the end of the job, since then it is done.
// - A snapshot at level i is first taken at each used level below, and counts at each of them as soon as its cost is
//   paid. After a failure in between, the complete levels remain, and the others are taken when the job reaches that
//   point again.
// - Recovery is from the newest snapshot left at level j or above, and costs R of the lowest level that holds it. A
//   failure during a recovery starts another one. With nothing left, the job starts over, for R of level j.
// - Coordinated: all processes return to that snapshot.
// - Asynchronous, as in the paper: the survivors keep their state and wait, while `helpers` do the failed processes'
// work since that
//   snapshot again, as many times faster. This applies to failures during work: after a failure during a checkpoint or
//   a recovery all return, as in the coordinated protocol.
// - Local, as in Cairn: after a failure of one of the lowest levels (`local_levels`), whatever it strikes, the
// survivors
//   keep their state and wait in the same way; one that strikes a recovery begins it again. After a failure of a level
//   above, all return, and so they do if a failure strikes while they return.
//
// The exception of the asynchronous protocol is inferred: of three readings of the paper it gives the results nearest
// to the published table, within 2 % of each mean (bondarenko2019.hpp). If failures during recovery were asynchronous
// too, overheads would come out up to 6 % below the table; if also those during checkpoints, up to 13 %.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "model/pattern.hpp"

namespace cairn::model {

enum class Protocol { coordinated, asynchronous, local };

struct Experiment {
  std::vector<LevelModel> levels;
  Pattern pattern;
  double work = 0;  // T: seconds that the job takes without failures or checkpoints
  Protocol protocol = Protocol::coordinated;
  std::uint32_t helpers = 1;     // of the asynchronous and the local protocol
  std::size_t local_levels = 1;  // of the local protocol
};

struct SimulationOptions {
  std::uint32_t runs = 10000;
  std::uint64_t seed = 1;
  std::uint32_t threads = 0;  // 0: one a processor
};

struct Statistic {
  double mean = 0;
  double deviation = 0;   // of one run
  double confidence = 0;  // the true mean is within ± this with 95 %
};

struct Simulated {
  Statistic overhead;  // seconds beyond `work`: the sum of the next three
  double checkpoints = 0;
  double rework = 0;
  double recovery = 0;
  std::vector<double> failures;  // by level, mean a run
  // Runs given up because they took kPatience times the work; if there are any, all the means are too low.
  std::uint32_t unfinished = 0;
};

inline constexpr double kPatience = 20;

// invalid_argument: as in check(), and if the counts of the pattern are not multiples of each other.
[[nodiscard]] Result<Simulated> simulate(const Experiment& experiment, const SimulationOptions& options);

}  // namespace cairn::model
