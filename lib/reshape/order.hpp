// What one member asks of another: some boxes of regions of old ranks, and the answer. Pure.
//
// An answer is the number of its boxes; a byte for each of them, 1 if it could not be read; the bytes of all boxes, end
// to end; and an error as a text, empty if there is none. That to a damaged order has no boxes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "reshape/buffers.hpp"
#include "reshape/finding.hpp"
#include "reshape/holdings.hpp"

namespace cairn::reshape {

inline constexpr std::uint64_t kOrderBytes = kMiB;          // in one answer, unless a single element is larger
inline constexpr std::size_t kMostBoxes = 64;               // in one order
inline constexpr std::uint64_t kBytesInFlight = 64 * kMiB;  // of answers, at each end
inline constexpr std::uint8_t kSlots = 8;                   // orders under way from one member to another

struct OrderedBox {
  std::uint32_t region = 0;
  Rank old_rank;
  Box box;
};
void fields(auto& io, OrderedBox& m) { io(m.region), io(m.old_rank), io(m.box); }

struct Order {
  std::uint8_t slot = 0;  // which of the receiver's buffers the answer is for
  std::vector<OrderedBox> boxes;
};
void fields(auto& io, Order& m) { io(m.slot), io(m.boxes), io.check(m.slot < kSlots); }

inline constexpr Tag kOrderTag{3};
[[nodiscard]] constexpr Tag answer_tag(std::uint8_t slot) { return Tag{4U + slot}; }

// No answer to `boxes` boxes of so many bytes is longer.
[[nodiscard]] constexpr std::uint64_t longest_answer(std::size_t boxes, std::uint64_t payload) {
  constexpr std::uint64_t kOther = 16 * kKiB;  // the number and the error
  return kOther + boxes + payload;
}

// Bytes that the boxes have; none: this member does not hold them.
[[nodiscard]] std::optional<std::uint64_t> payload_of(const Order& order, const Holdings& holdings);
// Answers an order from outside in a buffer, which is longer than the answer.
struct SentAnswer {
  Buffer buffer;
  std::uint64_t size_bytes = 0;
};
[[nodiscard]] SentAnswer answer(const std::optional<Order>& order, const Holdings& holdings, Buffers& buffers);

struct Answer {
  std::optional<Error> error;  // why the first bad box could not be read
  Bytes is_bad;                // of each box: 0 or 1; empty: all are bad
  Bytes payload;
};
[[nodiscard]] Answer read_answer(Bytes bytes, std::size_t boxes, std::uint64_t payload);

}  // namespace cairn::reshape
