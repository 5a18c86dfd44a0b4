// What must be the same on all ranks before they can open a session: the configuration, and who is where. It is read
// once and sent to the others, so that every rank has the same, or the same error.
#pragma once

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

// The head mode that stands for auto, in a job whose recovery is `recovery`. `heads_on_top`: ckpt-run has started ranks
// to be heads. `threads`: all processes may communicate from several threads. Pure.
[[nodiscard]] HeadMode automatic_head_mode(bool heads_on_top, bool threads, Config::Recovery::Mode recovery);
// What that mode means for snapshot(), as a line of the log. `processes`: of the job.
[[nodiscard]] std::string automatic_head_text(HeadMode mode, std::size_t processes, bool is_part);

// The configuration of the session, as far as the job may have it now; [head] mode is settled. Collective over the
// environment's world.
[[nodiscard]] Result<Config> share_config(const Environment& environment);
// The nodes and what each rank becomes, as that configuration wants it and the job was started. Likewise.
[[nodiscard]] Result<Topology> share_topology(const Environment& environment, const Config& config);

}  // namespace cairn
