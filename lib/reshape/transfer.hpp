// Moves the bytes of a plan. Each member reads the boxes that it wants from the old ranks that it holds or reaches,
// straight to where they belong. It orders all others from those that hold them, and answers their orders. It has at
// most 64 MiB of answers under way to it, and as many from it; and with any other member eight orders at most. So a
// member that holds much gets at most eight small orders from each other.
//
// A region that cannot be read does not end the transfer: it is found, and the rest goes on. Elements that several old
// ranks have are compared when all else is there.
#pragma once

#include "comm/comm.hpp"
#include "reshape/customer.hpp"
#include "reshape/plan.hpp"
#include "reshape/post.hpp"
#include "reshape/supplier.hpp"

namespace cairn::reshape {

// Both sides of a member, and the end. Belongs to one thread.
class Transfer {
 public:
  // `plan` must outlive it.
  Transfer(Comm& comm, const Plan& plan);
  Transfer(Comm& comm, Plan&& plan) = delete;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Moves what can be moved now, and reads the boxes of one order, or one piece of its own, at most. Does not wait.
  // True: all members have all that they want; then nobody calls it again. An error: a member cannot be reached.
  // Collective: all members call it until it is true.
  [[nodiscard]] Result<bool> advance();
  // Whether the last advance() moved anything: for Comm::idle().
  [[nodiscard]] bool has_moved() const { return moved_; }
  // What went wrong on this member. All members agree on it (agree_on) after the end.
  [[nodiscard]] const Findings& finding() const { return customer_.finding(); }

 private:
  Supplier supplier_;
  Customer customer_;
  Quiescence quiescence_;
  bool everybody_has_all_ = false;
  bool moved_ = false;
};

// Plans, moves and agrees, for callers without a wait loop of their own. Collective. None: the regions are restored. A
// finding is the same on all members. An error: a member cannot be reached.
[[nodiscard]] Result<Findings> reshape(Comm& comm, const Input& input);

}  // namespace cairn::reshape
