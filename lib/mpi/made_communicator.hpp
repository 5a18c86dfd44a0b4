// A call of the application that makes a communicator of another one.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "mpi/message_carrier.hpp"

namespace cairn {

struct MessageCarrier::Making {
  const tap::NewCommunicator& call;
  const Channel& parent;
  std::vector<int> callers = {};            // their ranks in the parent
  std::vector<std::uint32_t> members = {};  // the same in session.comm()
  replay::ChannelBook::Request request = {};
  ChannelFacts facts = {};  // what is known of it before MPI has made it
  bool is_noted = true;     // in the book; calls of other threads are not
};

// One that a call has only begun to make, and Cairn's own of the same ranks, which comes second.
struct MessageCarrier::Begun {
  ChannelFacts facts;
  bool is_noted = true;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Request second = MPI_REQUEST_NULL;
};

[[nodiscard]] inline std::vector<int> all_ranks(const Channel& channel) {
  std::vector<int> ranks(channel.facts.members.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// `call(group)` with these ranks of a communicator. Returns MPI's code.
template <class Call>
int with_group(MPI_Comm of, const std::vector<int>& ranks, Call call) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(of, &all);
  int code = MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &group);
  MPI_Group_free(&all);
  if (code != MPI_SUCCESS) return code;
  code = call(group);
  if (group != MPI_GROUP_EMPTY) MPI_Group_free(&group);
  return code;
}

}  // namespace cairn
