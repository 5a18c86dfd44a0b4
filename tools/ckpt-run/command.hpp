// The launcher's command line for one life of the job: from options, facts and placement, with the flags that a user
// would otherwise have to know. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "facts.hpp"
#include "options.hpp"
#include "placement.hpp"

namespace ckpt_run {

struct Command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;  // on top of ckpt-run's own
  std::string host_list;  // Slurm: a host for each rank, one a line; to be put into a file that SLURM_HOSTFILE names
};

// Whether the job repairs itself, with ULFM. An error if it should and cannot; it names what is missing.
[[nodiscard]] cairn::Result<bool> mends_itself(const cairn::Config& config, const Facts& facts);

// `environment`: CKPT_RUN_… and CAIRN_… variables, to reach every rank.
[[nodiscard]] Command launch_command(const Options& options, const cairn::Config& config, const Facts& facts,
                                     const Placement& placement, const std::map<std::string, std::string>& environment);

// With Slurm: gives back all allocations of that name which this user has.
[[nodiscard]] std::vector<std::string> cancel_command(const Options& options, const std::string& job);

}  // namespace ckpt_run
