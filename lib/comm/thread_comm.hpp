// A world whose members are threads of one process: a cluster in one binary, for tests. Each member's Comm
// behaves like the one over MPI, in particular a message above 64 KiB is sent only when it is received.
// A Comm may be used by several threads of its member at once. Messages and collectives are counted, and
// members can be killed, as a node's failure would. Memory grows with the members, not with their square.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "comm/comm.hpp"

namespace cairn {

struct ThreadWorldState;
struct ThreadGroup;

// What one member did so far, in the world and in all that was split from it.
struct Traffic {
  std::uint64_t messages = 0;          // sent point to point
  std::uint64_t message_bytes = 0;     // in them
  std::uint64_t received = 0;          // point to point: sent to this member
  std::uint64_t received_bytes = 0;    // in them
  std::uint64_t collectives = 0;       // entered
  std::uint64_t collective_bytes = 0;  // that the member gave to them
  std::uint64_t gathered_bytes = 0;    // that allgathers and broadcasts gave it
};

// The Comms keep what they share and may outlive it. Thread-safe. Local.
class ThreadWorld {
 public:
  explicit ThreadWorld(std::uint32_t members);

  [[nodiscard]] std::uint32_t size() const;
  // The world communicator of one member. To be called once per member.
  [[nodiscard]] std::unique_ptr<Comm> member(Peer peer) const;

  // From now on every operation of every member fails with Code::communication; those that wait return.
  void kill() const;
  // The same for one member. Operations of other members fail if they need it; the error names it by its rank in that
  // Comm.
  void kill(Peer peer) const;

  [[nodiscard]] Traffic traffic(Peer peer) const;

 private:
  std::shared_ptr<ThreadWorldState> state_;
  std::shared_ptr<ThreadGroup> group_;
};

// The Comms of all members of a new world, by rank.
[[nodiscard]] std::vector<std::unique_ptr<Comm>> make_thread_world(std::uint32_t members);

}  // namespace cairn
