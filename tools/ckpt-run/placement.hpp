// Which ranks go where: N application ranks, a head for each node where heads are ranks, and spares at the end. Pure.
//
// Nodes are the hosts, numbered as they are listed, or simulated ones ([topology] node_size), each of which is on one
// host. Ranks are numbered host by host, so that a node is a run of world ranks and its head is the last of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "config/config.hpp"
#include "session/handover.hpp"

namespace ckpt_run {

struct HostRanks {
  std::string host;
  std::uint32_t ranks = 0;                       // processes: heads and spares included
  std::vector<std::uint32_t> nodes;              // numbers of the nodes here
  std::vector<std::uint32_t> application_ranks;  // ascending
};

struct Placement {
  std::vector<HostRanks> hosts;  // in the order of world ranks; hosts that only have spares come last
  std::uint32_t application = 0;
  std::uint32_t heads = 0;
  std::vector<std::uint32_t> head_ranks;  // of the launcher's ranks, ascending
  std::uint32_t spares = 0;
  std::uint32_t nodes = 0;
  bool simulated = false;

  [[nodiscard]] std::uint32_t world() const { return application + heads + spares; }
  [[nodiscard]] std::uint32_t most_on_a_host() const;
  // "4 application ranks + 4 heads on 4 nodes"
  [[nodiscard]] std::string text() const;
  // ", whose rank 4 is a head": for what is said of a launcher, which counts heads. Empty: there are none.
  [[nodiscard]] std::string heads_text() const;
};

// Whether a rank of each node is to be its head, beside those that compute: with [head] mode = auto, too. Pure.
[[nodiscard]] bool has_dedicated_heads(const cairn::Config& config);

// What MPI_Init has to know if the application's MPI_COMM_WORLD is to have no heads; none: it is as MPI makes it. Pure.
[[nodiscard]] std::optional<cairn::StartedWorld> world_of(const cairn::Config& config, const Placement& placement);

// `spares`: nullopt means as many as [recovery] spares says. `spare_hosts`: where spare ranks go, evenly; the last host
// when there are none. In mode `respawn` each spare host gets one at least: new processes are started on a host by a
// process that lives there. In mode `restart` there are none.
[[nodiscard]] cairn::Result<Placement> place(std::uint32_t ranks, std::optional<std::uint32_t> spares,
                                             const cairn::Config& config, const std::vector<std::string>& hosts,
                                             const std::vector<std::string>& spare_hosts);

}  // namespace ckpt_run
