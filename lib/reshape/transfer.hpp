// Moves the bytes of a plan. Each member orders the boxes that it wants from those that hold them, and answers the
// orders of others. It has at most 64 MiB of answers under way to it, and as many from it; and with any other member
// two orders at most. So a member that holds much gets at most two small orders from each other.
//
// A region that cannot be read does not end the transfer: it is found, and the rest goes on. Elements that several old
// ranks have are compared when all else is there.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "comm/comm.hpp"
#include "reshape/order.hpp"
#include "reshape/plan.hpp"
#include "reshape/post.hpp"

namespace cairn::reshape {

// The orders of others.
class Supplier {
 public:
  Supplier(Comm& comm, const Holdings& holdings) : comm_(comm), holdings_(holdings), inbox_(comm, kOrderTag) {}
  // Answers one order at most. Whether anything moved. Does not wait.
  [[nodiscard]] Result<bool> advance();
  [[nodiscard]] bool has_sent_all() const { return sending_.empty(); }

 private:
  struct Sending {
    Buffer bytes;
    std::unique_ptr<Request> request;
  };
  void supply(const Letter& letter);
  [[nodiscard]] Result<bool> drop_sent();

  Comm& comm_;
  const Holdings& holdings_;
  Inbox inbox_;
  std::deque<Letter> waiting_;
  std::list<Sending> sending_;
  std::uint64_t in_flight_ = 0;
};

// A member's own orders.
class Customer {
 public:
  Customer(Comm& comm, const Plan& plan);
  [[nodiscard]] Result<bool> advance();
  // Orders that are open or not yet made.
  [[nodiscard]] std::uint64_t outstanding() const { return left_ + open_.size(); }
  [[nodiscard]] const Findings& finding() const { return finding_; }

 private:
  struct Piece {
    std::uint32_t region = 0;
    const Source* source = nullptr;
    Box box;
  };
  struct Open {
    Peer holder;
    std::uint8_t slot = 0;
    std::vector<Piece> pieces;
    std::uint64_t payload = 0;
    Buffer order;
    Buffer answer;
    std::unique_ptr<Request> sent;
    std::unique_ptr<Request> received;
  };
  // What is to be ordered from one member.
  struct Errand {
    std::deque<std::pair<std::uint32_t, const Source*>> sources;  // with the numbers of their regions
    std::deque<Piece> cut;                                        // of the first of them
    std::uint8_t free_slots = (1U << kSlots) - 1;
  };

  void list_errands(bool compared);
  [[nodiscard]] bool order_more();
  [[nodiscard]] bool order_from(Peer holder, Errand& errand);
  [[nodiscard]] const Piece* next_piece(Errand& errand);
  [[nodiscard]] std::uint64_t bytes_of(const Piece& piece) const;
  [[nodiscard]] Result<bool> take_answers();
  void take(const Open& open);
  void take(const Piece& piece, Bytes bytes);
  void note(Finding finding);

  Comm& comm_;
  const Plan& plan_;
  std::map<std::uint32_t, Errand> errands_;
  std::deque<std::uint32_t> ready_;  // members with errands and a free slot
  std::list<Open> open_;
  std::uint64_t in_flight_ = 0;
  std::uint64_t left_ = 0;  // sources that are not ordered completely, also of the second round
  bool compares_ = false;   // the second round has begun
  Findings finding_;
};

// Both, and the end. Belongs to one thread.
class Transfer {
 public:
  Transfer(Comm& comm, const Plan& plan);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Moves what can be moved now, one answer at most, and does not wait. True: all members have all that they want;
  // then nobody calls it again. An error: a member cannot be reached. Collective: all members call it until it is true.
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
