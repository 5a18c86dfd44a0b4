// A repair uses spares on sick nodes last ([localize] act).
#include <fmt/format.h>

#include "mpi/mpi_request.hpp"
#include "repair/pool.hpp"
#include "repair/sick_seats.hpp"
#include "tap/hear.hpp"

namespace cairn {

// The same on all members. Only heads that are ranks look for sick nodes.
bool Pool::heeds_verdicts() const {
  return config_.localize.on && config_.localize.act >= localize::Act::avoid && head_mode() == HeadMode::rank;
}

Status Pool::share_sick(MPI_Comm live, const SickNames& sick, Proposal& proposal) const {
  if (!heeds_verdicts()) return {};
  auto bits = sick_bits(sick, nodes_);
  const tap::Unheard own;
  const int code = MPI_Allreduce(MPI_IN_PLACE, bits.data(), static_cast<int>(bits.size()), MPI_UINT64_T, MPI_BOR, live);
  if (code != MPI_SUCCESS) return fail(mpi_error(code, "MPI_Allreduce"));
  proposal.sick = nodes_of_bits(bits);
  return {};
}

void Pool::log_sick(const Roster& before, const Proposal& proposal) const {
  for (std::size_t i = 0; i < proposal.live.size(); ++i) {
    const Member& was = before[proposal.live[i]];
    const Member& is = roster_[i];
    if (was.role != Member::Role::spare || is.role != Member::Role::rank || !proposal.sick.contains(is.node)) continue;
    const Seat& node = nodes_[is.node.value];
    log_.warning("rank {} continues on node {} (host {}), which is sick: no spare is left on other nodes",
                 is.rank.value, node.node, node.host);
  }
}

}  // namespace cairn
