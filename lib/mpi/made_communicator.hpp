// A call of the application that makes a communicator of another one.
#pragma once

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

}  // namespace cairn
