// The agent runs a command on another host, as ssh does. Here are also the commands for it: they ask whether a host
// answers and whether it still has ranks of the job, and remove what is left of the job. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "facts.hpp"
#include "options.hpp"

namespace ckpt_run {

struct Agent {
  std::vector<std::string> argv;
  bool shell = true;  // the command goes to a shell there; if not, it is executed as it is
};

// The user's choice; else srun in a Slurm job, where hosts may refuse ssh; else ssh. `job`: its name for Slurm.
[[nodiscard]] Agent choose_agent(const Options& options, const Facts& facts, const std::string& job);

[[nodiscard]] std::vector<std::string> on_host(const Agent& agent, const std::string& host, const std::string& command);

// Shared memory of Open MPI is named after user and job: vader_segment.<host>.<user>.<job>.<rank>. These are the
// "<user>.<job>" of all segments of this life that are known.
using SegmentKeys = std::set<std::string>;

// The key in the name of such a file; empty: the file is not one.
[[nodiscard]] std::string segment_key(const std::string& file_name);

// Every rank has one of these in its environment, with its number. Tasks that srun launches always have SLURM_PROCID.
// But a daemon that srun starts for another launcher has it too, so it counts only if the launcher is Slurm.
[[nodiscard]] std::vector<std::string> rank_variables(LauncherKind kind);

// Shell commands. `job`: the value of CKPT_RUN_JOB, which all ranks have in their environment.
[[nodiscard]] std::string answer_command();
// Code 0: there are ranks, 3: there are none. A launcher's daemon does not count, though its environment may name the
// job.
[[nodiscard]] std::string find_ranks_command(const std::string& job, LauncherKind kind);
// Whether one of the hosts that gave these codes has ranks, or none of them answered: then the agent does not work.
[[nodiscard]] bool may_have_ranks(const std::vector<int>& codes);
[[nodiscard]] std::string count_ranks_command(const std::string& job,
                                              std::uint32_t count);  // code 0: so many of Open MPI
[[nodiscard]] std::string clean_command(const std::string& job, const SegmentKeys& keys);

}  // namespace ckpt_run
