// A call of the application that makes a communicator of another one.
#pragma once

#include <mpi.h>

#include <cstdint>
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

}  // namespace cairn
