// Plans how the regions of a snapshot come to another number of ranks, or to other parts of arrays. Before any byte
// moves, all members know that all fits: what the ranks say, the tables of the old ranks, that the wanted parts cover
// each element once. Then memory is allocated, and all agree. transfer.hpp moves the bytes.
//
//   auto planned = plan_reshape(comm, input);         // collective
//   if (planned->finding) …                           // the same on all members: error_of() makes it an Error
//   Transfer transfer(comm, planned->plan);           // the plan must outlive it
//   while (!*transfer.advance()) comm.idle(…);        // or inside any other wait loop
//   auto finding = agree_on(comm, transfer.finding());
//
// For N old and M new ranks with R regions, a member keeps R entries, the lengths of the regions of N/M old ranks, the
// boxes that touch its tiles, and its own sources. Nothing is N·M, nor is any message. Boxes of d dimensions that are
// much longer than wide touch up to M^((d-1)/d) tiles.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "comm/comm.hpp"
#include "reshape/finding.hpp"
#include "reshape/holdings.hpp"
#include "reshape/roster.hpp"
#include "reshape/share.hpp"
#include "reshape/tile_match.hpp"
#include "reshape/wants.hpp"

namespace cairn::reshape {

// Belongs to one member. Refers to the Input, which must outlive it, and to the memory of the regions.
struct Plan {
  Roster roster;
  Holdings holdings;
  Holdings reached;                                      // old ranks of others that this member reads itself
  std::map<std::uint32_t, Target> targets;               // by number in the roster, as are the sources
  std::map<std::uint32_t, std::vector<Source>> sources;  // of regions that are no arrays: their bytes as a box
};

struct Planned {
  Plan plan;         // of use only without a finding
  Findings finding;  // the same on all members
};

// Collective. An error: a member cannot be reached; the Comm is then of no more use to the others either. Runs the
// function of Comm::on_wait() while it waits.
[[nodiscard]] Result<Planned> plan_reshape(Comm& comm, const Input& input);

}  // namespace cairn::reshape
