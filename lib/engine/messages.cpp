#include "engine/messages.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/fields.hpp"

namespace cairn {

// Found by base/fields: hence not in an unnamed namespace.
void fields(auto& io, Code& code) {
  auto number = static_cast<std::underlying_type_t<Code>>(code);
  io(number);
  const auto known = code_of(static_cast<std::uint64_t>(number));
  io.check(known.has_value());
  code = known.value_or(Code::communication);
}
void fields(auto& io, LevelId& level) {
  auto number = static_cast<std::underlying_type_t<LevelId>>(level);
  io(number);
  io.check(number >= 1 && number <= kMostLevels);
  level = static_cast<LevelId>(number);
}
void fields(auto& io, LevelSet& levels) {
  std::uint8_t bits = levels.bits();
  io(bits);
  levels = LevelSet::of_bits(bits);
}
void fields(auto& io, Identity& m) { io(m.incarnation), io(m.version), io(m.run); }
void fields(auto& io, Error& m) { io(m.code), io(m.message), io(m.hint), io(m.file); }
void fields(auto& io, JobCosts& m) {
  for (LevelCosts& level : m.levels) io(level.cost), io(level.recovery), io(level.mtbf), io(level.failures);
  io(m.observed), io(m.life), io(m.ended);
}
void fields(auto& io, Destination& m) { io(m.region), io(m.path); }
void fields(auto& io, Resized& m) { io(m.name), io(m.elements_before), io(m.elements_now), io(m.more); }

void fields(auto& io, Hello& m) { io(m.error), io(m.process); }
void fields(auto& io, Seal& m) {
  io(m.version), io(m.safe_point), io(m.levels), io(m.bytes), io(m.error), io(m.notes), io(m.pin);
  io(m.destinations);
}
void fields(auto& io, SettledCall& call) {
  auto number = static_cast<std::underlying_type_t<SettledCall>>(call);
  io(number);
  io.check(number >= static_cast<int>(SettledCall::restore) && number <= static_cast<int>(SettledCall::close));
  call = static_cast<SettledCall>(number);
}
void fields(auto& io, RestoreRequest& m) {
  io(m.version), io(m.label), io(m.at_start), io(m.again), io(m.call), io(m.rejects);
}
void fields(auto& io, RestoreResult& m) {
  io(m.error), io(m.resized), io(m.damaged), io(m.sent_bytes), io(m.completes), io(m.same_on_all);
  io(m.destinations);
}
void fields(auto& io, FinalizeRequest& m) {
  io(m.version), io(m.calls), io(m.keep_going), io(m.abandoned), io(m.undefined), io(m.ended_mpi);
}
void fields(auto& io, Waits& m) { io(m.call), io(m.seconds), io(m.asked); }
void fields(auto& io, Suspected& m) { io(m.text); }
void fields(auto& io, Dropped& m) { io(m.snapshot); }
void fields(auto& io, RankLeft& m) { io(m.rank), io(m.node), io(m.version), io(m.calls), io(m.ended_mpi); }
void fields(auto& io, HeadGone& m) { io(m.why); }
void fields(auto& io, Inquire& m) { io(m.rank), io(m.call), io(m.seconds); }
void fields(auto& /*io*/, Ask& /*m*/) {}
void fields(auto& io, NotHere& m) { io(m.ranks); }
void fields(auto& io, AvoidNodes& m) { io(m.nodes); }
void fields(auto& io, Missing& m) { io(m.text); }
void fields(auto& /*io*/, Acknowledged& /*m*/) {}
void fields(auto& io, Opened& m) {
  io(m.incarnation), io(m.run), io(m.last_version), io(m.usable), io(m.slots), io(m.measured), io(m.error);
  io(m.process);
}
void fields(auto& io, Reached& m) { io(m.version), io(m.level), io(m.took); }
void fields(auto& io, Failed& m) { io(m.version), io(m.levels), io(m.error); }
void fields(auto& io, Retired& m) { io(m.version); }
void fields(auto& io, OfferedShard& m) { io(m.rank), io(m.aside); }
void fields(auto& io, Offer& m) {
  io(m.fresh), io(m.snapshot), io(m.level), io(m.source), io(m.ranks_from), io(m.lost_nodes), io(m.seconds);
  io(m.old_ranks), io(m.shards), io(m.beside);
}
void fields(auto& io, RestoreDone& m) {
  io(m.last_version), io(m.resized_ranks), io(m.error), io(m.next), io(m.moved_bytes), io(m.completes);
  io(m.notes), io(m.rejected);
}
void fields(auto& io, Finalized& m) { io(m.error); }
void fields(auto& io, Trouble& m) { io(m.error); }
void fields(auto& io, SnapshotNow& m) { io(m.level); }

namespace {

template <class Message>
Buffer encode_any(const Message& message) {
  PutFields put;
  auto type = static_cast<std::uint8_t>(message.index());
  put(type);
  // Fields are described once, for reading and writing, hence on a copy that may be written.
  std::visit([&](auto copy) { fields(put, copy); }, message);
  return put.take();
}

template <class Message, std::size_t I = 0>
Result<Message> decode_any(std::uint8_t type, GetFields& get) {
  if constexpr (I == std::variant_size_v<Message>) {
    return fail_internal(Code::communication, "a control message has the unknown type " + std::to_string(type));
  } else if (type == I) {
    std::variant_alternative_t<I, Message> message;
    fields(get, message);
    if (!get.whole())
      return fail_internal(Code::communication, "a control message of type " + std::to_string(type) + " is damaged");
    return Message(std::move(message));
  } else {
    return decode_any<Message, I + 1>(type, get);
  }
}

template <class Message>
Result<Message> decode_any(Bytes bytes) {
  GetFields get(bytes);
  std::uint8_t type = 0;
  get(type);
  return decode_any<Message>(type, get);
}

}  // namespace

const char* text_of(SettledCall call) {
  switch (call) {
    case SettledCall::restore: return "restore()";
    case SettledCall::open: return "open_snapshot()";
    case SettledCall::close: return "close()";
  }
  return "";
}

bool fails_for_storage(Code code) {
  switch (code) {
    case Code::not_found:
    case Code::corrupt:
    case Code::no_space:
    case Code::io:
    case Code::failed_elsewhere: return true;
    default: return false;
  }
}

Error error_of(const RankLeft& left) {
  return {Code::communication,
          fmt::format("rank {} of node {} {}", left.rank.value, left.node.value,
                      left.ended_mpi ? "called MPI_Finalize before it finalized its session"
                                     : "ended its session without finalize"),
          "call finalize on every application rank"};
}

std::uint64_t to_word(const RankLeft& left) {
  return ((std::uint64_t{left.rank.value} + 1) << 32) | (std::uint64_t{left.node.value} << 1) |
         (left.ended_mpi ? 1U : 0U);
}

std::optional<RankLeft> left_of_word(std::uint64_t word) {
  if (word == 0) return {};
  RankLeft left;
  left.rank.value = static_cast<std::uint32_t>((word >> 32) - 1);
  left.node.value = static_cast<std::uint32_t>(word) >> 1;
  left.ended_mpi = word % 2 != 0;
  return left;
}

Buffer encode(const ToHead& message) { return encode_any(message); }
Result<ToHead> decode_to_head(Bytes bytes) { return decode_any<ToHead>(bytes); }
Buffer encode(const ToRank& message) { return encode_any(message); }
Result<ToRank> decode_to_rank(Bytes bytes) { return decode_any<ToRank>(bytes); }

}  // namespace cairn
