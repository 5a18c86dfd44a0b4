#include "hang/short_form.hpp"

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>

namespace cairn::hang {
namespace {

constexpr std::uint32_t kMostRanks = 1U << 21U;
constexpr std::uint64_t kLow = 0x7f;
constexpr std::uint64_t kMore = 0x80;

// Small for numbers near zero, of either sign.
std::uint64_t zigzag(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return (bits << 1U) ^ (value < 0 ? ~std::uint64_t{0} : 0);
}
std::int64_t from_zigzag(std::uint64_t bits) {
  return static_cast<std::int64_t>((bits >> 1U) ^ ((bits & 1U) != 0 ? ~std::uint64_t{0} : 0));
}

// Numbers in as few bytes as they need. Names and communicators: in full the first time, then by their place among
// those that came before.
class ShortWriter {
 public:
  void number(std::uint64_t& value) {
    std::uint64_t left = value;
    for (; left > kLow; left >>= 7U) out_.put(static_cast<std::uint8_t>(left | kMore));
    out_.put(static_cast<std::uint8_t>(left));
  }
  void text(std::string& value) {
    repeated(names_, value, [&] { out_.put_text(value); });
  }
  void comm(std::uint64_t& value) {
    repeated(comms_, value, [&] { out_.put(value); });
  }
  template <class List, class Each>
  void list(List& list, Each each) {
    std::uint64_t count = list.size();
    number(count);
    for (auto& item : list) each(item);
  }
  // `each` describes a key and its value.
  template <class Key, class Value, class Each>
  void map(std::map<Key, Value>& map, Each each) {
    std::uint64_t count = map.size();
    number(count);
    for (auto& [key, value] : map) {
      Key copy = key;
      each(copy, value);
    }
  }
  void check(bool /*possible*/) {}
  [[nodiscard]] Buffer take() { return out_.take(); }

 private:
  template <class T, class Put>
  void repeated(std::map<T, std::uint64_t>& known, const T& value, Put put) {
    auto [there, added] = known.try_emplace(value, known.size());
    number(there->second);
    if (added) put();
  }

  ByteWriter out_;
  std::map<std::string, std::uint64_t> names_;
  std::map<std::uint64_t, std::uint64_t> comms_;
};

class ShortReader {
 public:
  explicit ShortReader(Bytes bytes) : in_(bytes) {}
  void number(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = in_.get<std::uint8_t>();
      value |= (byte & kLow) << shift;
      if ((byte & kMore) == 0) return;
    }
    check(false);
  }
  void text(std::string& value) {
    repeated(names_, value, [&] { return in_.get_text(); });
  }
  void comm(std::uint64_t& value) {
    repeated(comms_, value, [&] { return in_.get<std::uint64_t>(); });
  }
  template <class List, class Each>
  void list(List& list, Each each) {
    for (std::uint64_t left = count(); left > 0 && good(); --left) each(list.emplace_back());
  }
  template <class Key, class Value, class Each>
  void map(std::map<Key, Value>& map, Each each) {
    for (std::uint64_t left = count(); left > 0 && good(); --left) {
      Key key{};
      Value value{};
      each(key, value);
      check(map.emplace(std::move(key), std::move(value)).second);
    }
  }
  void check(bool possible) { possible_ = possible_ && possible; }
  [[nodiscard]] bool good() const { return in_.good() && possible_; }
  [[nodiscard]] bool whole() const { return good() && in_.remaining() == 0; }

 private:
  std::uint64_t count() {
    std::uint64_t count = 0;
    number(count);
    check(count <= in_.remaining());  // each has a byte at least
    return count;
  }
  template <class T, class Get>
  void repeated(std::vector<T>& known, T& value, Get get) {
    std::uint64_t place = 0;
    number(place);
    if (place == known.size()) known.push_back(get());
    check(place < known.size());
    if (place < known.size()) value = known[place];
  }

  ByteReader in_;
  std::vector<std::string> names_;
  std::vector<std::uint64_t> comms_;
  bool possible_ = true;
};

// The parts of a reading, each described once for writing and reading.
template <class Io>
class ShortForm {
 public:
  explicit ShortForm(Io& io) : io_(io) {}

  void reading(RankReading& reading) {
    now_ = reading.now;
    integer(now_);
    reading.now = now_;
    facts(reading.process);
    facts(reading.head);
    head_of(reading.calls);
    comms_of(reading.calls);
    calls_of(reading.calls);
    messages_of(reading.calls);
  }

 private:
  template <class T>
  void number(T& value, std::uint64_t most = ~std::uint64_t{0}) {
    auto wide = static_cast<std::uint64_t>(value);
    io_.number(wide);
    if constexpr (std::is_same_v<T, bool>) most = 1;
    if constexpr (sizeof(T) < sizeof(wide) && !std::is_same_v<T, bool>) most = std::min(most, std::uint64_t{~0U});
    io_.check(wide <= most);
    value = wide <= most ? static_cast<T>(wide) : T{};
  }
  template <class Enum>
  void choice(Enum& value, Enum last) {
    number(value, static_cast<std::uint64_t>(last));
  }
  void integer(std::int64_t& value) {
    std::uint64_t bits = zigzag(value);
    io_.number(bits);
    value = from_zigzag(bits);
  }
  void small(std::int32_t& value) {
    std::int64_t wide = value;
    integer(wide);
    value = static_cast<std::int32_t>(wide);
    io_.check(value == wide);
  }
  void peer(std::int32_t& value) {
    small(value);
    io_.check(value >= kNoPeer && value < static_cast<std::int64_t>(ranks_));
  }
  // Most are shortly before the reading, or 0: then it lasts.
  void time(std::int64_t& value) {
    const auto base = static_cast<std::uint64_t>(now_);
    std::uint64_t bits =
        value == 0 ? 0 : zigzag(static_cast<std::int64_t>(base - static_cast<std::uint64_t>(value))) + 1;
    io_.number(bits);
    value = bits == 0 ? 0 : static_cast<std::int64_t>(base - static_cast<std::uint64_t>(from_zigzag(bits - 1)));
  }

  void facts(ProcessFacts& facts) {
    choice(facts.state, ProcessFacts::State::dead);
    std::uint64_t used = facts.used_processor ? 1 + static_cast<std::uint64_t>(*facts.used_processor) : 0;
    number(used, 2);
    facts.used_processor = used == 0 ? std::nullopt : std::optional(used == 2);
  }
  void head_of(RankCalls& calls) {
    number(calls.ranks, kMostRanks);
    ranks_ = calls.ranks;
    number(calls.rank.value);
    io_.check(calls.rank.value < calls.ranks);
    number(calls.format, kCallFileFormat);
    small(calls.process);
    io_.text(calls.host);
    integer(calls.opened_at);
    time(calls.opened);
    number(calls.calls);
    for (std::uint64_t& begun : calls.cairn_begun) number(begun);
    time(calls.cairn_ended);
    number(calls.node, kMostRanks);
    small(calls.head_process);
    peer(calls.head_rank);
    number(calls.forgot);
    number(calls.requests_left_out);
    number(calls.comms_left_out);
    number(calls.calls_left_out);
  }
  void comms_of(RankCalls& calls) {
    io_.map(calls.comms, [&](std::uint64_t& id, CommRecord& comm) {
      io_.comm(id);
      comm.id = id;
      number(comm.collectives);
      number(comm.size);
      number(comm.uncounted, 1);
    });
    io_.map(calls.comm_names, [&](std::uint64_t& id, std::string& name) { io_.comm(id), io_.text(name); });
    io_.comm(calls.session_comm);
    io_.map(calls.collectives, [&](std::pair<std::uint64_t, std::uint64_t>& of, Entered& entered) {
      io_.comm(of.first), number(of.second);
      io_.text(entered.name), peer(entered.root);
    });
  }
  void call(Call& call) {
    io_.text(call.name);
    choice(call.kind, CallKind::cairn);
    choice(call.completes, Completes::all);
    choice(call.cairn, kLastCairnCall);
    time(call.began);
    time(call.ended);
    io_.comm(call.comm);
    number(call.number);
    number(call.bytes);
    number(call.request);
    peer(call.peer);
    small(call.tag);
  }
  void list(std::vector<Call>& calls) {
    io_.list(calls, [&](Call& one) { call(one); });
  }
  void calls_of(RankCalls& calls) {
    io_.list(calls.lasting, [&](LastingCall& lasting) {
      call(lasting.call);
      list(lasting.requests);
      number(lasting.other_requests);
    });
    list(calls.pending);
    bool any = calls.newest.has_value();
    number(any);
    if (any && !calls.newest) calls.newest.emplace();
    if (any) call(*calls.newest);
    number(calls.progressed);
    number(calls.polls);
    io_.check(any || !calls.polls);
    time(calls.polls_since);
    list(calls.polled);
  }
  void kind(MessageKind& kind) { io_.comm(kind.comm), peer(kind.peer), small(kind.tag); }
  void messages_of(RankCalls& calls) {
    for (auto* const counts : {&calls.sends, &calls.receives})
      io_.map(*counts, [&](MessageKind& of, std::uint64_t& count) { kind(of), number(count); });
    for (auto* const counts : {&calls.sent, &calls.received})
      io_.map(*counts, [&](MessageKind& of, MessageCount& count) { kind(of), number(count.count), time(count.last); });
  }

  Io& io_;
  std::int64_t now_ = 0;
  std::uint32_t ranks_ = 0;
};

Buffer written(RankReading reading) {
  ShortWriter out;
  ShortForm(out).reading(reading);
  return out.take();
}

}  // namespace

Buffer encode(const RankReading& reading) {
  Buffer bytes = written(reading);
  if (bytes.size() <= kMostReadingBytes) return bytes;
  RankReading shorter = reading;
  RankCalls& calls = shorter.calls;
  for (auto& [id, comm] : calls.comms) comm.uncounted = 1;
  calls.sends.clear();
  calls.receives.clear();
  calls.sent.clear();
  calls.received.clear();
  calls.forgot = true;
  bytes = written(std::move(shorter));
  if (bytes.size() > kMostReadingBytes) bytes.clear();
  return bytes;
}

Result<RankReading> decode_reading(Bytes bytes) {
  ShortReader in(bytes);
  RankReading reading;
  ShortForm(in).reading(reading);
  if (!in.whole()) return fail(Code::communication, "a message with the calls of a rank is damaged");
  return reading;
}

Buffer encode(const std::vector<RankReading>& readings) {
  ByteWriter out;
  for (const RankReading& reading : readings) {
    const Buffer bytes = encode(reading);
    if (bytes.empty()) continue;
    out.put(static_cast<std::uint32_t>(bytes.size()));
    out.put(Bytes(bytes));
  }
  return out.take();
}

Result<std::vector<RankReading>> decode_readings(Bytes bytes) {
  ByteReader in(bytes);
  std::vector<RankReading> readings;
  while (in.remaining() > 0) {
    const auto length = in.get<std::uint32_t>();
    auto reading = decode_reading(in.get_bytes(length));
    if (!reading) return fail(reading.error());
    readings.push_back(std::move(*reading));
  }
  return readings;
}

}  // namespace cairn::hang
