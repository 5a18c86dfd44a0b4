// Blocking collectives of an intercommunicator made of messages: ranks of one group give data to those of the other one
// (MPI 4.1, chapter 6.2.3). As MPI allows, a rank may wait for ranks of its own group, too.
#pragma once

#include <optional>

#include "mpi/collectives/messages.hpp"
#include "tap/collectives.hpp"

namespace cairn::collectives {

// Ranks of `Messages`, which has both groups.
struct TwoGroups {
  struct Group {
    int first = 0;  // the rank of the first member
    int size = 0;
  };
  Group mine;
  Group other;
};

// Collective over both groups. Throws Failed. False: MPI does not define this one for two groups.
[[nodiscard]] bool make_between(const tap::collectives::Any& call, const TwoGroups& groups, Messages& messages);

}  // namespace cairn::collectives
