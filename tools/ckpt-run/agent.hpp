// The agent runs a command on another host, as ssh does; and what is asked of other hosts through it: whether they
// answer, whether ranks of the job still live there, and to remove what is left of it. Pure.
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

// The user's; in a Slurm job, where hosts may not let ssh in, srun; else ssh. `job`: what Slurm is to call it.
[[nodiscard]] Agent choose_agent(const Options& options, const Facts& facts, const std::string& job);

[[nodiscard]] std::vector<std::string> on_host(const Agent& agent, const std::string& host, const std::string& command);

// Shared memory of Open MPI is named after user and job: vader_segment.<host>.<user>.<job>.<rank>. "<user>.<job>" of
// all that is known of this life.
using SegmentKeys = std::set<std::string>;

// The key in the name of such a file; empty: it is none.
[[nodiscard]] std::string segment_key(const std::string& file_name);

// In the environment of every rank, one of them, with its number. Tasks of Slurm's own have SLURM_PROCID in any case,
// but so has what srun, as the helper of another launcher, has started: a daemon.
[[nodiscard]] std::vector<std::string> rank_variables(LauncherKind kind);

// Shell commands. `job`: the value of CKPT_RUN_JOB, which all ranks have in their environment.
[[nodiscard]] std::string answer_command();
// Code 0: there are ranks, 3: none. A launcher's daemon, which may have the job in its environment too, is none.
[[nodiscard]] std::string find_ranks_command(const std::string& job, LauncherKind kind);
// Whether one of the hosts that gave these codes has ranks, or none of them was heard: the agent is wrong then.
[[nodiscard]] bool may_have_ranks(const std::vector<int>& codes);
[[nodiscard]] std::string count_ranks_command(const std::string& job,
                                              std::uint32_t count);  // code 0: so many of Open MPI
[[nodiscard]] std::string clean_command(const std::string& job, const SegmentKeys& keys);

}  // namespace ckpt_run
