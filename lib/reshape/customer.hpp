// Gets what a member wants, and puts it where it belongs: orders it from others, at most 64 MiB at once, and reads what
// it can read itself. Belongs to one thread.
//
// There are two rounds: in the second, elements that several old ranks have are compared with what came in the first.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "comm/comm.hpp"
#include "reshape/order.hpp"
#include "reshape/plan.hpp"

namespace cairn::reshape {

class Customer {
 public:
  Customer(Comm& comm, const Plan& plan);
  // Takes answers, and orders. Does not wait, nor read.
  [[nodiscard]] Result<bool> advance();
  // Reads one piece of what this member reads itself. False: there is none left in this round.
  bool read_piece();
  // Orders that are open or not yet made, and pieces to read.
  [[nodiscard]] std::uint64_t outstanding() const { return left_ + open_.size() + here_.cut.size(); }
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
    Buffer buffer;  // of the answer, and longer
    std::uint64_t longest = 0;
    std::unique_ptr<Request> sent;
    std::unique_ptr<Request> received;
  };
  // What is to be ordered from one member, or read here.
  struct Errand {
    std::deque<std::pair<std::uint32_t, const Source*>> sources;  // with the numbers of their regions
    std::deque<Piece> cut;                                        // of the first of them
    std::uint64_t piece_bytes = kOrderBytes;
    std::uint8_t free_slots = (1U << kSlots) - 1;
  };

  void list_errands(bool compared);
  [[nodiscard]] const HeldRegion* find_here(std::uint32_t region, const Source& source) const;
  [[nodiscard]] bool order_more();
  [[nodiscard]] bool order_from(Peer holder, Errand& errand);
  [[nodiscard]] const Piece* next_piece(Errand& errand);
  [[nodiscard]] std::uint64_t bytes_of(const Piece& piece) const;
  [[nodiscard]] Result<bool> take_answers();
  void take(const Open& open);
  void take(const Piece& piece, Bytes bytes);
  void compare(const Piece& piece, Bytes bytes);
  void note(Finding finding);

  Comm& comm_;
  const Plan& plan_;
  Errand here_;  // what this member reads itself
  std::map<std::uint32_t, Errand> errands_;
  std::deque<std::uint32_t> ready_;  // members with errands and a free slot
  std::list<Open> open_;
  Buffers buffers_;
  std::uint64_t in_flight_ = 0;
  std::uint64_t left_ = 0;  // sources of which nothing is ordered yet, also of the second round
  bool compares_ = false;   // the second round has begun
  Findings finding_;
};

}  // namespace cairn::reshape
