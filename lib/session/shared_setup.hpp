// What must be the same on all ranks before they can open a session: the configuration and the topology. One rank reads
// it and sends it to the others, so that every rank has the same, or the same error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "config/config.hpp"
#include "session/environment.hpp"
#include "topology/topology.hpp"

namespace cairn {

// The configuration's text as it is read on rank 0. Collective.
[[nodiscard]] Result<ConfigSource> share_config_source(Comm& world, const std::string& file);
// The hosts of all ranks, by rank. Collective.
[[nodiscard]] Result<std::vector<std::string>> share_hosts(Comm& world, const std::string& host);

// The head mode that `auto` means in a job with this recovery mode. `heads_on_top`: ckpt-run has started ranks to be
// heads. `threads`: all processes may communicate from several threads. Pure.
[[nodiscard]] HeadMode automatic_head_mode(bool heads_on_top, bool threads, Config::Recovery::Mode recovery);
// The effect of that mode on snapshot(), as a line of the log. `processes`: of the job. `is_part_of_job`: of a larger
// job of ckpt-run, so that its advice does not fit.
[[nodiscard]] std::string automatic_head_text(HeadMode mode, std::size_t processes, bool is_part_of_job);

// The configuration of the session, with [head] mode resolved. Fails if the job cannot use it. Collective over the
// environment's world.
[[nodiscard]] Result<Config> share_config(const Environment& environment);
// Whether these are the processes that ckpt-run has started; none: it has not. Pure.
[[nodiscard]] Status check_started(const Topology& topology, const std::optional<StartedNumbers>& started);
// The nodes and the role of each rank, from that configuration and the start of the job. Collective, likewise.
[[nodiscard]] Result<Topology> share_topology(const Environment& environment, const Config& config);

}  // namespace cairn
