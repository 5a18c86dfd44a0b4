#include "replay/part_order.hpp"

#include <utility>

#include <fmt/format.h>

namespace cairn::replay {
namespace {

void put_number(ByteWriter& out, const Number& number) {
  out.put(number.lane.epoch);
  out.put(number.lane.peer);
  out.put(number.lane.tag);
  out.put(number.lane.channel);
  out.put(number.place);
}

Number get_number(ByteReader& in) {
  Number number;
  number.lane.epoch = in.get<std::uint64_t>();
  number.lane.peer = in.get<std::uint32_t>();
  number.lane.tag = in.get<std::int32_t>();
  number.lane.channel = in.get<std::uint64_t>();
  number.place = in.get<std::uint64_t>();
  return number;
}

void put_buffer(ByteWriter& out, const Buffer& buffer) {
  out.put(static_cast<std::uint64_t>(buffer.size()));
  out.put(Bytes(buffer));
}

Buffer get_buffer(ByteReader& in) {
  const Bytes found = in.get_bytes(in.get<std::uint64_t>());
  return {found.begin(), found.end()};
}

void put_messages(ByteWriter& out, const std::map<Number, Buffer>& messages) {
  out.put(static_cast<std::uint64_t>(messages.size()));
  for (const auto& [number, payload] : messages) {
    put_number(out, number);
    put_buffer(out, payload);
  }
}

std::map<Number, Buffer> get_messages(ByteReader& in) {
  std::map<Number, Buffer> messages;
  const auto count = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count && in.good(); ++i) {
    const Number number = get_number(in);
    messages.emplace(number, get_buffer(in));
  }
  return messages;
}

tl::unexpected<Error> damaged(const char* what, Bytes bytes) {
  return fail(Code::invalid_argument,
              fmt::format("a message of {} bytes with {} is damaged: its length does not fit its contents",
                          bytes.size(), what));
}

}  // namespace

Buffer encode(const PartOrder& order) {
  ByteWriter out;
  out.put(order.steps.rank);
  out.put(order.steps.ranks);
  out.put(order.steps.begin);
  out.put(order.steps.end);
  put_messages(out, order.steps.messages);
  out.put(order.part);
  out.put(static_cast<std::uint32_t>(order.members.size()));
  for (const std::uint32_t member : order.members) out.put(member);
  put_buffer(out, order.state);
  return out.take();
}

Result<PartOrder> decode_part_order(Bytes bytes) {
  ByteReader in(bytes);
  PartOrder order;
  order.steps.rank = in.get<std::uint32_t>();
  order.steps.ranks = in.get<std::uint32_t>();
  order.steps.begin = in.get<std::uint64_t>();
  order.steps.end = in.get<std::uint64_t>();
  order.steps.messages = get_messages(in);
  order.part = in.get<std::uint32_t>();
  const auto members = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < members && in.good(); ++i) order.members.push_back(in.get<std::uint32_t>());
  order.state = get_buffer(in);
  if (!in.good() || in.remaining() != 0 || order.part >= order.members.size())
    return damaged("the part of a lost rank", bytes);
  return order;
}

Buffer encode(const PartResult& result) {
  ByteWriter out;
  put_buffer(out, result.state);
  put_messages(out, result.sent);
  out.put(static_cast<std::uint64_t>(result.taken.size()));
  for (const Number& number : result.taken) put_number(out, number);
  return out.take();
}

Result<PartResult> decode_part_result(Bytes bytes) {
  ByteReader in(bytes);
  PartResult result;
  result.state = get_buffer(in);
  result.sent = get_messages(in);
  const auto count = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count && in.good(); ++i) result.taken.insert(get_number(in));
  if (!in.good() || in.remaining() != 0) return damaged("a recomputed part", bytes);
  return result;
}

}  // namespace cairn::replay
