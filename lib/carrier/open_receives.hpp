// Receives that MPI does not have yet, in the order of their calls: those after restore() that name no sender, or no
// tag, and those that an earlier one of these might take the message from. Each stays here until it is known which
// message it gets, so that each message goes to the receive to which MPI would give it.
//
// Belongs to the session's thread. Asks MPI nothing.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "carrier/pending_message.hpp"

namespace cairn {

class OpenReceives {
 public:
  // What has become of a receive that was tried. It is over for this class once its `is_open` is false.
  enum class Tried { goes_on, earlier_gets_it, process_has_died };

  [[nodiscard]] bool empty() const { return by_order_.empty(); }
  // Requires: it is open, and has a place in the order.
  void add(PendingMessage& receive);
  // Requires: it is there.
  void remove(PendingMessage& receive);
  // In their order; none is open any more.
  [[nodiscard]] std::vector<PendingMessage*> take_all();

  // Whether a receive from before that place in the order might get the message.
  [[nodiscard]] bool is_behind(const Channel& channel, int peer, int tag, std::uint64_t order = UINT64_MAX) const;
  // Whether one is of that communicator.
  [[nodiscard]] bool has_of(MPI_Comm handle) const;

  // Tries each, in their order, but those that name all and are behind another. Where the message that one has found
  // belongs to an earlier one, it begins again. False: a process has died.
  template <class Try>
  bool advance(Try attempt) {
    for (auto at = by_order_.begin(); at != by_order_.end();) {
      PendingMessage& one = *at->second;
      if (names_all(one.in.peer, one.in.tag) && is_behind(*one.channel, one.in.peer, one.in.tag, at->first)) {
        ++at;
        continue;
      }
      const Tried tried = attempt(one);
      at = one.is_open ? std::next(at) : by_order_.erase(at);
      if (tried == Tried::process_has_died) return false;
      if (tried == Tried::earlier_gets_it) at = by_order_.begin();
    }
    return true;
  }

  [[nodiscard]] static bool names_all(int peer, int tag) { return peer != MPI_ANY_SOURCE && tag != MPI_ANY_TAG; }

 private:
  std::map<std::uint64_t, PendingMessage*> by_order_;
};

}  // namespace cairn
