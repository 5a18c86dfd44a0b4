// A repair uses spares on sick nodes last ([localize] act).
#include <span>

#include <fmt/format.h>

#include "repair/pool.hpp"
#include "repair/sick_seats.hpp"

namespace cairn {

// The same on all members. Only heads that are ranks look for sick nodes.
bool Pool::heeds_verdicts() const {
  return config_.localize.on && config_.localize.act >= localize::Act::avoid && head_mode() == HeadMode::rank;
}

Status Pool::share_sick(UlfmComm& live, const SickNames& sick, Proposal& proposal) const {
  if (!heeds_verdicts()) return {};
  const auto mine = sick_bits(sick, nodes_);
  std::vector<std::uint64_t> all(mine.size() * live.size());
  const auto told = live.gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  if (!told) return told;
  for (auto from = all.begin(); from != all.end(); from += static_cast<std::ptrdiff_t>(mine.size()))
    proposal.sick.merge(nodes_of_bits({from, from + static_cast<std::ptrdiff_t>(mine.size())}));
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
