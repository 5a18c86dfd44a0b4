// Answers the orders of other members, at most 64 MiB of answers at once. Belongs to one thread.
#pragma once

#include <deque>
#include <list>
#include <memory>

#include "comm/comm.hpp"
#include "reshape/order.hpp"
#include "reshape/post.hpp"

namespace cairn::reshape {

class Supplier {
 public:
  Supplier(Comm& comm, const Holdings& holdings);
  // Answers one order at most. Whether anything moved. Does not wait.
  [[nodiscard]] Result<bool> advance();
  [[nodiscard]] bool has_sent_all() const { return sending_.empty(); }

 private:
  struct Sending {
    SentAnswer answer;
    std::unique_ptr<Request> request;
  };
  void supply(const Letter& letter);
  [[nodiscard]] Result<bool> drop_sent();

  Comm& comm_;
  const Holdings& holdings_;
  Inbox inbox_;
  Buffers buffers_;
  std::deque<Letter> waiting_;
  std::list<Sending> sending_;
  std::uint64_t in_flight_ = 0;
};

}  // namespace cairn::reshape
