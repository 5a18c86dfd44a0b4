#include "replay/catch_up.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/mix.hpp"
#include "codec/crc32c.hpp"

namespace cairn::replay {
namespace {

void put(ByteWriter& out, const Lane& lane) {
  out.put(lane.epoch);
  out.put(lane.tag);
  out.put(lane.channel);
}

Lane get_lane(ByteReader& in, std::uint32_t peer) {
  const auto epoch = in.get<std::uint64_t>();
  const auto tag = in.get<std::int32_t>();
  return {epoch, peer, tag, in.get<std::uint64_t>()};
}

void put(ByteWriter& out, const Content& content) {
  out.put(content.bytes);
  out.put(content.crc);
}

Content get_content(ByteReader& in) {
  const auto bytes = in.get<std::uint64_t>();
  return {bytes, in.get<std::uint32_t>()};
}

// In one lane between two snapshot() calls.
constexpr std::uint64_t kMostPlaces = 1U << 30U;

}  // namespace

Buffer encode(const Shipment& shipment) {
  ByteWriter out;
  out.put(shipment.from);
  out.put(static_cast<std::uint64_t>(shipment.messages.size()));
  for (const auto& [lane, messages] : shipment.messages) {
    put(out, lane);
    out.put(static_cast<std::uint64_t>(messages.size()));
    for (const Shipment::Message& message : messages) {
      put(out, message.content);
      out.put(message.order);
      out.put(static_cast<std::uint64_t>(message.payload.size()));
      out.put(Bytes(message.payload));
    }
  }
  out.put(static_cast<std::uint64_t>(shipment.received.size()));
  for (const auto& [lane, received] : shipment.received) {
    put(out, lane);
    out.put(received.count());
    received.for_each([&](std::uint64_t place, const Content& content) {
      out.put(place);
      put(out, content);
    });
  }
  return out.take();
}

Result<Shipment> decode_shipment(Bytes bytes) {
  const auto damaged = [&] {
    return fail(
        Code::invalid_argument,
        fmt::format("a message of {} bytes with logged messages is damaged: its length does not fit its contents",
                    bytes.size()));
  };
  ByteReader in(bytes);
  Shipment shipment;
  shipment.from = in.get<std::uint32_t>();
  const auto lanes = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < lanes && in.good(); ++i) {
    auto& messages = shipment.messages[get_lane(in, shipment.from)];
    const auto count = in.get<std::uint64_t>();
    for (std::uint64_t j = 0; j < count && in.good(); ++j) {
      const Content content = get_content(in);
      const auto order = in.get<std::uint64_t>();
      const Bytes payload = in.get_bytes(in.get<std::uint64_t>());
      messages.push_back({content, Buffer(payload.begin(), payload.end()), order});
    }
  }
  const auto received_lanes = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < received_lanes && in.good(); ++i) {
    Received& received = shipment.received[get_lane(in, shipment.from)];
    const auto count = in.get<std::uint64_t>();
    for (std::uint64_t j = 0; j < count && in.good(); ++j) {
      const auto place = in.get<std::uint64_t>();
      const Content content = get_content(in);
      if (place > kMostPlaces) return damaged();
      received.add(place, content);
    }
  }
  if (!in.good() || in.remaining() != 0) return damaged();
  return shipment;
}

Result<std::vector<Shipment>> decode_shipments(const std::map<std::uint32_t, Buffer>& shipped) {
  std::vector<Shipment> shipments;
  for (const auto& [from, bytes] : shipped) {
    auto shipment = decode_shipment(bytes);
    if (!shipment) return fail(shipment.error().in(fmt::format("from rank {}", from)));
    shipments.push_back(std::move(*shipment));
  }
  return shipments;
}

CatchUp::CatchUp(std::vector<Shipment> shipments, std::uint64_t newest, Compares compares)
    : newest_(newest), compares_(compares) {
  for (Shipment& shipment : shipments) {
    for (auto& [lane, messages] : shipment.messages)
      for (std::size_t place = 0; place < messages.size(); ++place)
        messages_.emplace(Number{lane, place}, std::move(messages[place]));
    received_[shipment.from] = std::move(shipment.received);
  }
}

std::optional<Buffer> CatchUp::receive(const Number& number) {
  const auto found = messages_.find(number);
  if (found == messages_.end()) return {};
  Buffer payload = std::move(found->second.payload);
  messages_.erase(found);
  return payload;
}

// MPI keeps the messages of one sender in order, also those with different tags.
std::optional<Number> CatchUp::any_for(const Pattern& pattern, std::uint64_t epoch,
                                       const std::function<Number(const Stream&)>& coming) const {
  std::optional<Number> best;
  std::uint64_t order = 0;
  for (auto at = messages_.lower_bound({Lane{epoch, 0, INT32_MIN, 0}, 0}); at != messages_.end(); ++at) {
    const Lane& lane = at->first.lane;
    if (lane.epoch != epoch || (best && lane.peer != best->lane.peer)) break;
    if (lane.channel != pattern.channel || lane.tag == kCollectiveTag) continue;
    if ((pattern.peer && *pattern.peer != lane.peer) || (pattern.tag && *pattern.tag != lane.tag)) continue;
    if (coming(stream_of(lane)) != at->first || (best && at->second.order > order)) continue;
    best = at->first;
    order = at->second.order;
  }
  return best;
}

Result<bool> CatchUp::must_send(const Number& number, const Content& content) {
  const auto peer = received_.find(number.lane.peer);
  if (peer == received_.end()) return true;
  const auto lane = peer->second.find(number.lane);
  if (lane == peer->second.end()) return true;
  if (!lane->second.contains(number.place)) return true;
  const Content had = lane->second.take(number.place);
  if (lane->second.count() == 0) peer->second.erase(lane);
  if (had == content || compares_ == Compares::numbers) return false;
  return fail(Code::mismatch,
              fmt::format("{} to rank {} differs: rank {} had received {} bytes with CRC-32C {:08x}, "
                          "now it is {} bytes with {:08x}",
                          number, number.lane.peer, number.lane.peer, had.bytes, had.crc, content.bytes, content.crc));
}

bool CatchUp::is_over(std::uint64_t epoch) const {
  return epoch >= newest_ && messages_.empty() &&
         std::ranges::all_of(received_, [](const auto& peer) { return peer.second.empty(); });
}

std::map<Lane, Received> CatchUp::waiting_from(std::uint32_t peer) const {
  std::map<Lane, Received> waiting;
  for (const auto& [number, message] : messages_)
    if (number.lane.peer == peer) waiting[number.lane].add(number.place, message.content);
  return waiting;
}

std::set<std::uint32_t> CatchUp::peers() const {
  std::set<std::uint32_t> peers;
  for (const auto& [number, message] : messages_) peers.insert(number.lane.peer);
  return peers;
}

Result<std::map<Number, Buffer>> CatchUp::messages_until(std::uint64_t call) const {
  const auto check = [&](const Lane& lane) -> Status {
    if (lane.epoch >= call || lane.channel == kSessionChannel) return {};
    return fail(Code::unrecoverable, "its steps have messages on other communicators");
  };
  for (const auto& [peer, lanes] : received_)
    for (const auto& [lane, received] : lanes)
      if (auto status = check(lane); !status) return fail(status.error());
  std::map<Number, Buffer> messages;
  for (const auto& [number, message] : messages_) {
    if (auto status = check(number.lane); !status) return fail(status.error());
    if (number.lane.epoch < call) messages.emplace(number, message.payload);
  }
  return messages;
}

Result<CatchUp::Exchanged> CatchUp::recomputed(std::uint64_t call, std::vector<PartResult> parts) {
  auto before = received_;
  auto all = compare(call, std::move(parts));
  if (!all) received_ = std::move(before);
  if (all) messages_.erase(messages_.begin(), messages_.lower_bound(Number{Lane{call, 0, INT32_MIN}, 0}));
  return all;
}

// Takes out of received_ what is the same.
Result<CatchUp::Exchanged> CatchUp::compare(std::uint64_t call, std::vector<PartResult> parts) {
  Exchanged all;
  for (PartResult& part : parts) {
    for (const Number& number : part.taken) {
      const auto found = messages_.find(number);
      const bool is_due = found != messages_.end() && number.lane.epoch < call;
      if (!is_due || !all.received.emplace(number, found->second.content).second)
        return fail(Code::mismatch, fmt::format("two parts have received {} from rank {}", number, number.lane.peer));
    }
    for (auto& [number, payload] : part.sent) {
      const auto must_send = this->must_send(number, {payload.size(), crc32c(payload)});
      if (!must_send) return fail(must_send.error());
      if (*must_send)
        return fail(Code::mismatch, fmt::format("{} to rank {}: the lost rank had not sent it, or another part has",
                                                number, number.lane.peer));
      all.sent.emplace(number, std::move(payload));
    }
  }
  for (const auto& [number, message] : messages_)
    if (number.lane.epoch < call && !all.received.contains(number))
      return fail(Code::mismatch, fmt::format("no part has received {} from rank {}", number, number.lane.peer));
  for (const auto& [peer, lanes] : received_)
    if (!lanes.empty() && lanes.begin()->first.epoch < call)
      return fail(Code::mismatch, fmt::format("no part has sent {} to rank {}, as the lost rank had",
                                              Number{.lane = lanes.begin()->first, .place = 0}, peer));
  return all;
}

Result<Shipment> ship(std::uint32_t me, std::uint32_t peer, std::uint64_t epoch, const SendLog& log,
                      std::map<Lane, Received> mine) {
  Shipment shipment;
  shipment.from = me;
  for (const auto& [lane, entries] : log.messages_to(peer, epoch)) {
    auto& messages = shipment.messages[Lane{lane.epoch, me, lane.tag, lane.channel}];
    for (const SendLog::Entry& entry : entries) {
      auto payload = log.payload({lane, entry.place});
      if (!payload) return fail(payload.error());
      messages.push_back({entry.content, std::move(*payload), entry.order});
    }
  }
  for (auto& [lane, received] : mine)
    shipment.received[Lane{lane.epoch, me, lane.tag, lane.channel}] = std::move(received);
  return shipment;
}

std::vector<Number> lost_messages(std::uint32_t peer, std::uint64_t epoch, const SendLog& log,
                                  const std::map<Lane, Received>& theirs) {
  std::vector<Number> lost;
  for (const auto& [lane, entries] : log.messages_to(peer, epoch)) {
    const auto there = theirs.find(lane);
    for (const SendLog::Entry& entry : entries)
      if (there == theirs.end() || !there->second.contains(entry.place)) lost.push_back({lane, entry.place});
  }
  return lost;
}

std::uint64_t Balance::weight(std::uint32_t from, std::uint32_t to, const Number& number, const Content& content) {
  std::uint64_t value = mix(std::uint64_t{from} << 32U | to);
  value = mix(value ^ static_cast<std::uint32_t>(number.lane.tag));
  value = mix(value ^ number.lane.epoch);
  value = mix(value ^ number.lane.channel);
  value = mix(value ^ number.place);
  return mix(value ^ content.bytes ^ std::uint64_t{content.crc} << 32U);
}

}  // namespace cairn::replay
