#include "replay/traffic.hpp"

#include <algorithm>
#include <tuple>

namespace cairn::replay {
namespace {

// Messages of Cairn's own have negative tags, which no receive of the application gets.
bool accepts(const Pattern& pattern, const Stream& stream) {
  const bool has_tag = pattern.tag ? stream.tag == *pattern.tag : stream.tag >= 0;
  return has_tag && stream.channel == pattern.channel && (!pattern.peer || stream.peer == *pattern.peer);
}

void put(ByteWriter& out, const Stream& stream) {
  out.put(stream.peer);
  out.put(stream.tag);
  out.put(stream.channel);
}

Stream get_stream(ByteReader& in) {
  const auto peer = in.get<std::uint32_t>();
  const auto tag = in.get<std::int32_t>();
  return {peer, tag, in.get<std::uint64_t>()};
}

}  // namespace

void encode(const Need& need, ByteWriter& out) {
  out.put(need.kind);
  out.put(need.pattern.channel);
  out.put(need.pattern.peer.has_value());
  out.put(need.pattern.peer.value_or(0));
  out.put(need.pattern.tag.has_value());
  out.put(need.pattern.tag.value_or(0));
  out.put(need.number);
  out.put(static_cast<std::uint32_t>(need.have_come.size()));
  for (const auto& [stream, count] : need.have_come) {
    put(out, stream);
    out.put(count);
  }
}

Need decode_need(ByteReader& in) {
  Need need;
  need.kind = in.get<Need::Kind>();
  need.pattern.channel = in.get<std::uint64_t>();
  const bool names_peer = in.get<bool>();
  const auto peer = in.get<std::uint32_t>();
  if (names_peer) need.pattern.peer = peer;
  const bool names_tag = in.get<bool>();
  const auto tag = in.get<std::int32_t>();
  if (names_tag) need.pattern.tag = tag;
  need.number = in.get<std::uint64_t>();
  const auto streams = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < streams && in.good(); ++i) {
    const Stream stream = get_stream(in);
    need.have_come.emplace_back(stream, in.get<std::uint64_t>());
  }
  return need;
}

// In a fixed order, so that two needs can be compared.
Need Traffic::message(const Pattern& pattern) const {
  Need need{.kind = Need::Kind::message, .pattern = pattern};
  for (const auto& [stream, counts] : streams_)
    if (counts.received > 0 && accepts(pattern, stream)) need.have_come.emplace_back(stream, counts.received);
  std::ranges::sort(need.have_come, {},
                    [](const auto& one) { return std::tuple(one.first.peer, one.first.tag, one.first.channel); });
  return need;
}

Need Traffic::receiver(const Stream& to) const {
  return {.kind = Need::Kind::receiver,
          .pattern = {.channel = to.channel, .peer = to.peer, .tag = to.tag},
          .number = streams_.at(to).sent};
}

bool Traffic::meets(const Need& need, std::uint32_t needer, std::uint32_t me) const {
  if (need.pattern.peer && *need.pattern.peer != me) return false;
  if (need.kind == Need::Kind::message) return has_sent_more(need, needer, me);
  const auto found = streams_.find(Stream{needer, need.pattern.tag.value_or(0), need.pattern.channel});
  return found != streams_.end() && found->second.posted >= need.number;
}

bool Traffic::has_sent_more(const Need& need, std::uint32_t needer, std::uint32_t me) const {
  return std::ranges::any_of(streams_, [&](const auto& one) {
    const auto& [to, counts] = one;
    const Stream as_received{me, to.tag, to.channel};
    if (to.peer != needer || !accepts(need.pattern, as_received)) return false;
    const auto come = std::ranges::find(need.have_come, as_received, [](const auto& had) { return had.first; });
    return counts.sent > (come == need.have_come.end() ? 0 : come->second);
  });
}

}  // namespace cairn::replay
