#include "reshape/order.hpp"

#include <algorithm>
#include <utility>

#include "comm/error_message.hpp"

namespace cairn::reshape {
namespace {

// Short enough for longest_answer().
Buffer encode(std::optional<Error> error) {
  constexpr std::size_t kLongest = 4'000;
  ByteWriter writer;
  if (error) {
    for (std::string* text : {&error->message, &error->hint, &error->file})
      text->resize(std::min(text->size(), kLongest));
    writer.put_text(text_of(encode_error(*error)));
  } else {
    writer.put_text({});
  }
  return writer.take();
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

// Boxes are read to where they are sent from.
SentAnswer answer(const std::optional<Order>& order, const Holdings& holdings, Buffers& buffers) {
  const auto payload = order ? payload_of(*order, holdings) : std::nullopt;
  const std::size_t boxes = payload ? order->boxes.size() : 0;
  SentAnswer sent{buffers.take(longest_answer(boxes, payload.value_or(0))), 0};
  MutableBytes rest = sent.buffer;
  const auto put = [&](Bytes bytes) {
    copy_bytes(bytes, rest);
    rest = rest.subspan(bytes.size());
  };
  const auto count = static_cast<std::uint32_t>(boxes);
  put(std::as_bytes(std::span(&count, 1)));
  const MutableBytes is_bad = rest.first(boxes);
  std::ranges::fill(is_bad, std::byte{0});
  rest = rest.subspan(boxes);
  std::optional<Error> error;
  if (!payload) error = Error{Code::failed_elsewhere, "an order of another rank is damaged", {}};
  for (std::size_t i = 0; i < boxes; ++i) {
    const OrderedBox& one = order->boxes[i];
    const HeldRegion& held = *holdings.find(one.old_rank, one.region);
    const MutableBytes into = rest.first(one.box.elements() * held.array.element_bytes);
    rest = rest.subspan(into.size());
    const auto status = read_part(held.array, held.read, alone(held.array, one.box), into, one.box);
    if (status) continue;
    is_bad[i] = std::byte{1};
    if (!error) error = status.error();
  }
  put(encode(std::move(error)));
  sent.size_bytes = sent.buffer.size() - rest.size();
  return sent;
}

Answer read_answer(Bytes bytes, std::size_t boxes, std::uint64_t payload) {
  Answer answer;
  ByteReader reader(bytes);
  if (reader.get<std::uint32_t>() == boxes) {
    answer.is_bad = reader.get_bytes(boxes);
    answer.payload = reader.get_bytes(payload);
  }
  if (const auto text = reader.get_text(); !text.empty()) answer.error = decode_error(bytes_of(text));
  return answer;
}

}  // namespace cairn::reshape
