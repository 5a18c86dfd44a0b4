#include "reshape/order.hpp"

#include <cstring>
#include <utility>

#include "comm/error_message.hpp"

namespace cairn::reshape {

std::optional<std::uint64_t> payload_of(const Order& order, const Holdings& holdings) {
  std::uint64_t bytes = 0;
  for (const OrderedBox& one : order.boxes) {
    const HeldRegion* held = holdings.find(one.old_rank, one.region);
    if (held == nullptr || !is_sane(one.box) || !contains(held->array.box, one.box)) return std::nullopt;
    bytes += one.box.elements() * held->array.element_bytes;
  }
  return bytes;
}

Buffer answer(const Order& order, const Holdings& holdings, std::uint64_t payload) {
  Buffer bytes(answer_bytes(payload));  // begins with zeros
  MutableBytes rest = MutableBytes(bytes).subspan(sizeof(std::uint64_t));
  for (std::size_t i = 0; i < order.boxes.size(); ++i) {
    const OrderedBox& one = order.boxes[i];
    const HeldRegion& held = *holdings.find(one.old_rank, one.region);
    const MutableBytes into = rest.first(one.box.elements() * held.array.element_bytes);
    if (auto status = read_part(held.array, held.read, one.box, into); !status) return answer_error(i, status.error());
    rest = rest.subspan(into.size());
  }
  return bytes;
}

Buffer answer_error(std::uint64_t box, Error error) {
  constexpr std::size_t kLongest = 4'000;
  for (std::string* text : {&error.message, &error.hint, &error.file}) text->resize(std::min(text->size(), kLongest));
  ByteWriter writer;
  writer.put(box + 1);
  writer.put_text(text_of(encode_error(error)));
  return writer.take();
}

Answer read_answer(Bytes bytes, std::uint64_t payload) {
  ByteReader reader(bytes);
  const auto what = reader.get<std::uint64_t>();
  if (what == 0) return {reader.get_bytes(payload), {}, 0};
  return {{}, decode_error(bytes_of(reader.get_text())), what - 1};
}

}  // namespace cairn::reshape
