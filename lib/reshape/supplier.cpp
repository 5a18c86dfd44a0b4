#include "reshape/supplier.hpp"

#include <algorithm>
#include <utility>

#include "reshape/order.hpp"
#include "reshape/wire.hpp"

namespace cairn::reshape {

Supplier::Supplier(Comm& comm, const Holdings& holdings) : comm_(comm), holdings_(holdings), inbox_(comm, kOrderTag) {}

Result<bool> Supplier::drop_sent() {
  bool moved = false;
  for (auto one = sending_.begin(); one != sending_.end();) {
    const auto done = one->request->test();
    if (!done) return fail(done.error());
    if (!*done) {
      ++one;
      continue;
    }
    in_flight_ -= one->answer.size_bytes;
    buffers_.give_back(std::move(one->answer.buffer));
    one = sending_.erase(one);
    moved = true;
  }
  return moved;
}

void Supplier::supply(const Letter& letter) {
  const auto order = from_bytes<Order>(letter.bytes);
  const std::uint8_t slot = order ? order->slot : std::uint8_t{0};
  Sending& sending = sending_.emplace_back();
  sending.answer = answer(order, holdings_, buffers_);
  const std::uint64_t size_bytes = sending.answer.size_bytes;
  sending.request = comm_.isend(letter.from, answer_tag(slot), Bytes(sending.answer.buffer).first(size_bytes));
  in_flight_ += size_bytes;
}

Result<bool> Supplier::advance() {
  auto moved = drop_sent();
  if (!moved) return moved;
  auto arrived = inbox_.take();
  if (!arrived) return fail(arrived.error());
  std::ranges::move(*arrived, std::back_inserter(waiting_));
  if (waiting_.empty() || (in_flight_ > 0 && in_flight_ + kOrderBytes > kBytesInFlight)) return moved;
  supply(waiting_.front());
  waiting_.pop_front();
  return true;
}

}  // namespace cairn::reshape
