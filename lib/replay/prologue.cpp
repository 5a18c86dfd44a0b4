#include "replay/prologue.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "codec/crc32c.hpp"

namespace cairn::replay {

Result<Outgoing> Prologue::sends(std::uint32_t peer, std::int32_t tag, Bytes payload) {
  const Number number = sends_.next(peer, tag);
  const auto crc = log_.keep(number, payload);
  Outgoing out{.number = number, .must_send = true, .is_logged = crc.has_value()};
  if (!catch_up_) return out;
  out.must_send = catch_up_->must_send(number, {payload.size(), crc ? *crc : crc32c(payload)}).value();
  if (out.must_send && is_survivor(peer))
    return fail(Code::mismatch,
                fmt::format("before restore() it sends {} to rank {}, which the dead rank had not sent", number, peer));
  return out;
}

Result<std::optional<Buffer>> Prologue::shipped(const Number& number) {
  if (!catch_up_) return std::nullopt;
  auto payload = catch_up_->receive(number);
  if (!payload && is_survivor(number.lane.peer))
    return fail(Code::mismatch, fmt::format("before restore() it receives {} from rank {}, which had sent none so far",
                                            number, number.lane.peer));
  return payload;
}

Result<std::optional<std::uint64_t>> Prologue::next_shipped(std::uint32_t peer, std::int32_t tag) const {
  if (!catch_up_) return std::nullopt;
  const Number number = receives_.coming(peer, tag);
  const auto length = catch_up_->length_of(number);
  if (!length && is_survivor(peer))
    return fail(Code::mismatch,
                fmt::format("before restore() it probes for {} from rank {}, which had sent none", number, peer));
  return length;
}

Buffer Prologue::shipment_to(std::uint32_t peer) const {
  return encode(ship(me_, peer, 0, log_, receipts_.from(peer, 0)));
}

Status Prologue::replays(const std::map<std::uint32_t, Buffer>& shipped) {
  auto shipments = decode_shipments(shipped);
  if (!shipments) return fail(shipments.error());
  for (const Shipment& shipment : *shipments) survivors_.insert(shipment.from);
  catch_up_.emplace(std::move(*shipments), 0, CatchUp::Compares::numbers);
  return {};
}

Status Prologue::ends() {
  if (!catch_up_) return {};
  const bool is_over = catch_up_->is_over(0);
  catch_up_.reset();
  if (is_over) return {};
  return fail(Code::mismatch,
              fmt::format("rank {} has exchanged fewer messages before restore() than the dead rank", me_));
}

}  // namespace cairn::replay
