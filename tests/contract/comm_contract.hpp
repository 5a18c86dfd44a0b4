// What every Comm promises, as functions that each member of a communicator of any size calls. They use
// gtest's assertions; a fatal one leaves the function on that member only, so the caller must see to it that
// the others do not wait for ever.
#pragma once

#include <span>

#include "comm/comm.hpp"

namespace cairn::test {

struct CommPromise {
  const char* sentence;  // fit for a test's name
  void (*check)(Comm& comm);
};

[[nodiscard]] std::span<const CommPromise> comm_promises();

}  // namespace cairn::test
