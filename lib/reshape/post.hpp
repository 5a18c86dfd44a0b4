// Sends letters from any member to any other when nobody knows who gets how many. Collective. Letters have the tags 1
// and 2; order.hpp has the others.
//
// The end is found by reductions: each member adds what it has sent and not yet taken; the sum is zero when all has
// arrived. A reduction is pending on each member at all times, so that a member that waits learns of any death, also of
// one with which it exchanges nothing. The Comm must fail a pending reduction if a member dies or leaves.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "comm/comm.hpp"

namespace cairn::reshape {

// Finds out when nothing is outstanding on any member.
class Quiescence {
 public:
  // While something is outstanding here, lets `pause` calls pass between two reductions: thousands of ranks in one
  // reduction after the other would have less time for what they do. Deaths are noticed so much later.
  explicit Quiescence(Comm& comm, unsigned pause = 0) : comm_(comm), pause_(pause) {}
  // Adds `outstanding` to the next reduction, or looks at the one under way. True: the sum over all members was zero,
  // modulo 2^64; then nobody calls it again. Local, does not wait.
  [[nodiscard]] Result<bool> test(std::uint64_t outstanding);

 private:
  Comm& comm_;
  unsigned pause_;
  unsigned calls_left_ = 0;  // before the next reduction
  std::uint64_t sum_ = 0;
  std::unique_ptr<Request> request_;
};

struct Letter {
  Peer from;
  Buffer bytes;
};

// Receives messages of one tag from anybody, several at a time.
class Inbox {
 public:
  Inbox(Comm& comm, Tag tag) : comm_(comm), tag_(tag) {}
  // The messages that are complete by now. Does not wait.
  [[nodiscard]] Result<std::vector<Letter>> take();

 private:
  struct Arriving {
    std::unique_ptr<Letter> letter;
    std::unique_ptr<Request> request;
  };
  Comm& comm_;
  Tag tag_;
  std::vector<Arriving> arriving_;
};

// By receiver.
using Outbox = std::map<std::uint32_t, Buffer>;

// One object for all exchanges of one Comm.
class Post {
 public:
  // Sends each letter, and returns those to this member, in the order of their senders. Collective.
  [[nodiscard]] Result<std::vector<Letter>> exchange(Comm& comm, const Outbox& letters);

 private:
  bool odd_ = false;  // a member may send the next letters before another has noticed the end of these
};

}  // namespace cairn::reshape
