#include "replay/prologue.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "codec/crc32c.hpp"

namespace cairn::replay {
namespace {

Buffer encode_choices(const std::vector<std::optional<Choice>>& choices, std::uint32_t peer) {
  ByteWriter out;
  for (std::uint64_t place = 0; place < choices.size(); ++place) {
    const auto& choice = choices[place];
    if (!choice || choice->peer != peer) continue;
    out.put(place);
    out.put(choice->tag);
    out.put(choice->is_of_probe);
    out.put(choice->pattern.channel);
    out.put(choice->pattern.peer.has_value());
    out.put(choice->pattern.tag.has_value());
  }
  return out.take();
}

// False: these are no bytes of encode_choices().
bool decode_choices(Bytes bytes, std::uint32_t peer, std::map<std::uint64_t, Choice>& choices) {
  ByteReader in(bytes);
  while (in.good() && in.remaining() != 0) {
    const auto place = in.get<std::uint64_t>();
    Choice& choice = choices[place];
    choice.peer = peer;
    choice.tag = in.get<std::int32_t>();
    choice.is_of_probe = in.get<bool>();
    choice.pattern.channel = in.get<std::uint64_t>();
    if (in.get<bool>()) choice.pattern.peer = choice.peer;
    if (in.get<bool>()) choice.pattern.tag = choice.tag;
  }
  return in.good();
}

// What a survivor ships.
struct PrologueShipment {
  Buffer your_choices;
  Buffer my_choices;
  Buffer messages;
};

Buffer encode_prologue(const PrologueShipment& shipment) {
  ByteWriter out;
  for (const Buffer* part : {&shipment.your_choices, &shipment.my_choices, &shipment.messages}) {
    out.put(static_cast<std::uint64_t>(part->size()));
    out.put(Bytes(*part));
  }
  return out.take();
}

std::optional<PrologueShipment> decode_prologue(Bytes bytes) {
  ByteReader in(bytes);
  PrologueShipment shipment;
  for (Buffer* part : {&shipment.your_choices, &shipment.my_choices, &shipment.messages}) {
    const Bytes found = in.get_bytes(in.get<std::uint64_t>());
    part->assign(found.begin(), found.end());
  }
  if (!in.good() || in.remaining() != 0) return {};
  return shipment;
}

}  // namespace

Result<Outgoing> Prologue::sends(const Stream& to, Bytes payload) {
  const Number number = sends_.next(to);
  const auto crc = log_.keep(number, payload, receipts_.bytes());
  Outgoing out{.number = number, .must_send = true, .is_logged = crc.has_value()};
  if (!catch_up_) return out;
  out.must_send = catch_up_->must_send(number, {payload.size(), crc ? *crc : crc32c(payload)}).value();
  if (out.must_send && is_survivor(to.peer))
    return fail(Code::mismatch, fmt::format("before restore() it sends {} to rank {}, which the dead rank had not sent",
                                            number, to.peer));
  return out;
}

void Prologue::received(const Number& number, const Content& content) {
  if (!is_whole()) return;  // all ranks roll back after a failure
  receipts_.add(number, content);
  if (!log_.has_room_for(receipts_.bytes())) log_.gives_up(number.lane.epoch);
}

Result<std::optional<Buffer>> Prologue::shipped(const Number& number) {
  if (!catch_up_) return std::nullopt;
  auto payload = catch_up_->receive(number);
  if (!payload && is_survivor(number.lane.peer))
    return fail(Code::mismatch, fmt::format("before restore() it receives {} from rank {}, which had sent none so far",
                                            number, number.lane.peer));
  return payload;
}

Result<std::optional<std::uint64_t>> Prologue::next_shipped(const Stream& from) const {
  if (!catch_up_) return std::nullopt;
  const Number number = receives_.coming(from);
  const auto length = catch_up_->length_of(number);
  if (!length && is_survivor(from.peer))
    return fail(Code::mismatch,
                fmt::format("before restore() it probes for {} from rank {}, which had sent none", number, from.peer));
  return length;
}

Result<std::optional<Choice>> Prologue::next_choice(const Pattern& pattern, bool probes) {
  const auto chosen = chosen_.find(choices_.size());
  const bool is_known = chosen != chosen_.end();
  const bool fits = is_known && chosen->second.is_of_probe == probes && chosen->second.pattern == pattern;
  if (!fits && probes && (is_known || knows_all_choices_)) return std::nullopt;
  if (!fits)
    return fail(Code::mismatch,
                fmt::format("before restore() it {} from any rank or with any tag, and no such call of the dead rank "
                            "is known",
                            probes ? "probes for a message" : "receives a message"));
  choices_.emplace_back(chosen->second);
  return choices_.back();
}

std::map<std::uint32_t, Buffer> Prologue::choices_by_peer() const {
  std::map<std::uint32_t, Buffer> out;
  for (const auto& choice : choices_)
    if (choice && !out.contains(choice->peer)) out[choice->peer] = encode_choices(choices_, choice->peer);
  return out;
}

Buffer Prologue::shipment_to(std::uint32_t peer) const {
  const auto kept = kept_.find(peer);
  // This log has no files, so all of it can be read.
  const auto messages = ship(me_, peer, 0, log_, receipts_.from(peer, 0));
  return encode_prologue({.your_choices = kept == kept_.end() ? Buffer{} : kept->second,
                          .my_choices = encode_choices(choices_, peer),
                          .messages = encode(messages.value())});
}

Status Prologue::replays(const std::map<std::uint32_t, Buffer>& shipped, std::uint32_t ranks) {
  knows_all_choices_ = shipped.size() + 1 == ranks;
  std::map<std::uint32_t, Buffer> messages;
  for (const auto& [from, bytes] : shipped) {
    auto shipment = decode_prologue(bytes);
    if (!shipment || !decode_choices(shipment->your_choices, from, chosen_))
      return fail(Code::invalid_argument,
                  fmt::format("from rank {}: {} bytes of messages before restore() are damaged", from, bytes.size()));
    kept_[from] = std::move(shipment->my_choices);
    messages[from] = std::move(shipment->messages);
  }
  auto shipments = decode_shipments(messages);
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
