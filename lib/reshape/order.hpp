// What one member asks of another: some boxes of regions of old ranks, and the answer. Pure.
//
// An answer begins with a number: 0, and the bytes of all boxes follow, end to end; or 1 + the number of the box that
// could not be read, and the error follows.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "reshape/finding.hpp"
#include "reshape/holdings.hpp"

namespace cairn::reshape {

inline constexpr std::uint64_t kOrderBytes = kMiB;          // in one answer, unless a single element is larger
inline constexpr std::size_t kMostBoxes = 256;              // in one order
inline constexpr std::uint64_t kBytesInFlight = 64 * kMiB;  // of answers, at each end
inline constexpr std::uint8_t kSlots = 2;                   // orders under way from one member to another

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

// The size of the answer with all bytes, and of one that says an error. A buffer for it has the larger size.
[[nodiscard]] constexpr std::uint64_t answer_bytes(std::uint64_t payload) { return sizeof(std::uint64_t) + payload; }
inline constexpr std::uint64_t kErrorAnswerBytes = 16 * kKiB;

// Bytes that the boxes have; none: this member does not hold them.
[[nodiscard]] std::optional<std::uint64_t> payload_of(const Order& order, const Holdings& holdings);
// Requires: there is a payload, of so many bytes.
[[nodiscard]] Buffer answer(const Order& order, const Holdings& holdings, std::uint64_t payload);
// The answer to an order that could not be done at all.
[[nodiscard]] Buffer answer_error(std::uint64_t box, Error error);

struct Answer {
  Bytes payload;               // of all boxes, if there is no error
  std::optional<Error> error;  // why `bad_box` could not be read
  std::size_t bad_box = 0;
};
[[nodiscard]] Answer read_answer(Bytes bytes, std::uint64_t payload);

}  // namespace cairn::reshape
