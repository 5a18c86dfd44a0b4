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

// Between two ranks, as one of them sees it.
struct Lane {
  std::uint64_t epoch = 0;  // snapshot() calls so far
  std::uint32_t peer = 0;
  std::int32_t tag = 0;
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

// Which other rank and tag, as one value that can be hashed.
[[nodiscard]] inline std::uint64_t key_of(std::uint32_t peer, std::int32_t tag) {
  return std::uint64_t{peer} << 32U | static_cast<std::uint32_t>(tag);
}

// The numbers of a rank's sends, or of its receives, in the order of its calls.
class Counter {
 public:
  [[nodiscard]] Number next(std::uint32_t peer, std::int32_t tag) {
    return {{epoch_, peer, tag}, places_[key_of(peer, tag)]++};
  }
  // What next() would return.
  [[nodiscard]] Number coming(std::uint32_t peer, std::int32_t tag) const {
    const auto at = places_.find(key_of(peer, tag));
    return {{epoch_, peer, tag}, at == places_.end() ? 0 : at->second};
  }
  // A snapshot() call. Numbers from before come no more.
  void enter(std::uint64_t epoch) {
    epoch_ = epoch;
    // Most applications use the same few tags again; some use new ones at each step.
    if (places_.size() > kMostRemembered) places_.clear();
    for (auto& [key, place] : places_) place = 0;
  }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }

 private:
  static constexpr std::size_t kMostRemembered = 1024;

  std::uint64_t epoch_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> places_;
};

}  // namespace cairn::replay

// "message 3 with tag 7".
template <>
struct fmt::formatter<cairn::replay::Number> : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const cairn::replay::Number& number, Context& context) const {
    if (number.lane.tag == cairn::replay::kCollectiveTag)
      return fmt::format_to(context.out(), "message {} of its collective calls", number.place);
    return fmt::format_to(context.out(), "message {} with tag {}", number.place, number.lane.tag);
  }
};
