#include "reshape/order.hpp"

#include <algorithm>
#include <utility>

#include "comm/error_message.hpp"

namespace cairn::reshape {
namespace {

ByteWriter encode(Error error) {
  constexpr std::size_t kLongest = 4'000;
  for (std::string* text : {&error.message, &error.hint, &error.file}) text->resize(std::min(text->size(), kLongest));
  ByteWriter writer;
  writer.put_text(text_of(encode_error(error)));
  return writer;
}

}  // namespace

std::optional<std::uint64_t> payload_of(const Order& order, const Holdings& holdings) {
  std::uint64_t bytes = 0;
  for (const OrderedBox& one : order.boxes) {
    const HeldRegion* held = holdings.find(one.old_rank, one.region);
    if (held == nullptr || !is_sane(one.box) || !contains(held->array.box, one.box)) return std::nullopt;
    bytes += one.box.elements() * held->array.element_bytes;
  }
  return bytes;
}

// Boxes are read to where they are sent from, as if there were no error.
Buffer answer(const std::optional<Order>& order, const Holdings& holdings) {
  const auto payload = order ? payload_of(*order, holdings) : std::nullopt;
  if (!payload) return encode({Code::failed_elsewhere, "an order of another rank is damaged", {}}).take();
  constexpr std::size_t kNoError = sizeof(std::uint32_t);
  const std::size_t boxes = order->boxes.size();
  Buffer bytes(kNoError + boxes + *payload);
  MutableBytes rest = MutableBytes(bytes).subspan(kNoError + boxes);
  std::optional<Error> error;
  for (std::size_t i = 0; i < boxes; ++i) {
    const OrderedBox& one = order->boxes[i];
    const HeldRegion& held = *holdings.find(one.old_rank, one.region);
    const MutableBytes into = rest.first(one.box.elements() * held.array.element_bytes);
    rest = rest.subspan(into.size());
    const auto status = read_part(held.array, held.read, alone(held.array, one.box), into, one.box);
    if (status) continue;
    bytes[kNoError + i] = std::byte{1};
    if (!error) error = status.error();
  }
  if (!error) return bytes;
  ByteWriter writer = encode(*std::move(error));
  writer.put(Bytes(bytes).subspan(kNoError));
  return writer.take();
}

Answer read_answer(Bytes bytes, std::size_t boxes, std::uint64_t payload) {
  Answer answer;
  ByteReader reader(bytes);
  if (const auto text = reader.get_text(); !text.empty()) answer.error = decode_error(bytes_of(text));
  answer.is_bad = reader.get_bytes(boxes);
  answer.payload = reader.get_bytes(payload);
  return answer;
}

}  // namespace cairn::reshape
