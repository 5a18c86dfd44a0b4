// How a message is named, so that a rank that computes again can tell which of its messages have been received.
//
// No message is in flight at a snapshot() call, so one that is sent between two of these calls is received between the
// same two. Within these, MPI keeps the messages of one sender, receiver and tag in the order of their calls. So sender
// and receiver count alike, and neither needs to be told a number. Pure data.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include <fmt/format.h>

namespace cairn::replay {

// All messages of collective calls have this tag, which no other message can have.
inline constexpr std::int32_t kCollectiveTag = INT32_MIN + 1;

// The communicator whose ranks count: session.comm(). Others have numbers that all their members know.
inline constexpr std::uint64_t kSessionChannel = 0;

// Between two ranks, as one of them sees it.
struct Lane {
  std::uint64_t epoch = 0;  // snapshot() calls so far
  std::uint32_t peer = 0;   // its rank in session.comm(), whatever the channel
  std::int32_t tag = 0;
  std::uint64_t channel = kSessionChannel;  // the communicator of the message
  friend auto operator<=>(const Lane&, const Lane&) = default;
};

struct Number {
  Lane lane;
  std::uint64_t place = 0;  // from 0, in the order of the calls
  friend auto operator<=>(const Number&, const Number&) = default;
};

// A message that the application sends.
struct Outgoing {
  Number number;
  bool must_send = true;  // false: its receiver has had it from the process that this one replaces
  bool is_logged = true;  // false: the log is full
};

// What a message holds.
struct Content {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // CRC-32C
  friend bool operator==(const Content&, const Content&) = default;
};

// A lane without its snapshot() call, for tables of the present one.
struct Stream {
  std::uint32_t peer = 0;
  std::int32_t tag = 0;
  std::uint64_t channel = kSessionChannel;
  friend bool operator==(const Stream&, const Stream&) = default;

  struct Hash {
    std::size_t operator()(const Stream& stream) const {
      const std::uint64_t key = std::uint64_t{stream.peer} << 32U | static_cast<std::uint32_t>(stream.tag);
      return key ^ (stream.channel * 0x9e3779b97f4a7c15U);
    }
  };
};
[[nodiscard]] inline Stream stream_of(const Lane& lane) { return {lane.peer, lane.tag, lane.channel}; }

// The numbers of a rank's sends, or of its receives, in the order of its calls.
class Counter {
 public:
  [[nodiscard]] Number next(const Stream& stream) { return {lane_of(stream), places_[stream]++}; }
  // What next() would return.
  [[nodiscard]] Number coming(const Stream& stream) const {
    const auto at = places_.find(stream);
    return {lane_of(stream), at == places_.end() ? 0 : at->second};
  }
  // A snapshot() call. Numbers from before come no more.
  void enter(std::uint64_t epoch) {
    epoch_ = epoch;
    // Most applications use the same few tags again; some use new ones at each step.
    if (places_.size() > kMostRemembered) places_.clear();
    for (auto& [stream, place] : places_) place = 0;
  }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

 private:
  static constexpr std::size_t kMostRemembered = 1024;

  [[nodiscard]] Lane lane_of(const Stream& stream) const { return {epoch_, stream.peer, stream.tag, stream.channel}; }

  std::uint64_t epoch_ = 0;
  std::unordered_map<Stream, std::uint64_t, Stream::Hash> places_;
};

}  // namespace cairn::replay

// "message 3 with tag 7".
template <>
struct fmt::formatter<cairn::replay::Number> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const cairn::replay::Number& number, Context& context) const {
    if (number.lane.tag == cairn::replay::kCollectiveTag)
      return fmt::format_to(context.out(), "message {} of its collective calls", number.place);
    return fmt::format_to(context.out(), "message {} with tag {}{}", number.place, number.lane.tag,
                          number.lane.channel == cairn::replay::kSessionChannel ? "" : " on another communicator");
  }
};
