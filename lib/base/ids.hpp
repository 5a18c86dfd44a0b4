// Strong types for the numbers that name things, so that a node is never passed where a rank is meant.
// Values: freely copied, ordered, hashable by their number.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <cairn/level_id.hpp>

namespace cairn {

template <class Tag, class Number = std::uint32_t>
struct Id {
  Number value{};
  friend auto operator<=>(const Id&, const Id&) = default;
};

// An application rank: 0 … A−1, in the order of the world communicator. Heads have none.
using Rank = Id<struct RankTag>;
// A node: 0 … N−1 in the order of its lowest world rank. Local to one layout.
using NodeId = Id<struct NodeTag>;
// A member of a Comm.
using Peer = Id<struct PeerTag>;
// The number of a snapshot; grows for the whole life of a job's chain.
using Version = Id<struct VersionTag>;
// Which life of the job wrote something: 1, 2, 3 …
using Incarnation = Id<struct IncarnationTag>;
// Random, drawn once per incarnation: distinguishes two lives that took the same number.
using RunId = Id<struct RunIdTag, std::uint64_t>;
// A digest of everything in a Layout: equal ids, equal layouts.
using LayoutId = Id<struct LayoutIdTag, std::uint32_t>;

// The number of levels that the configuration, the cost model and the files of a job know.
inline constexpr int kLevels = 4;
// The highest number that a level may have: a set is one byte in messages.
inline constexpr int kMostLevels = 7;

// A set of levels, one bit each. Iterates from the lowest to the highest.
class LevelSet {
 public:
  constexpr LevelSet() = default;
  constexpr LevelSet(std::initializer_list<LevelId> levels) {
    for (const LevelId level : levels) add(level);
  }
  static constexpr LevelSet of_bits(std::uint8_t bits) {
    LevelSet set;
    set.bits_ = bits & 0xfeU;
    return set;
  }
  static constexpr LevelSet all() { return of_bits(0xff); }

  [[nodiscard]] constexpr bool has(LevelId level) const { return (bits_ & bit(level)) != 0; }
  constexpr void add(LevelId level) { bits_ |= bit(level); }
  constexpr void add(LevelSet levels) { bits_ |= levels.bits_; }
  constexpr void remove(LevelId level) { bits_ &= static_cast<std::uint8_t>(~bit(level)); }
  constexpr void remove(LevelSet levels) { bits_ &= static_cast<std::uint8_t>(~levels.bits_); }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr std::uint8_t bits() const { return bits_; }
  friend constexpr bool operator==(LevelSet, LevelSet) = default;
  // Those that are in both.
  friend constexpr LevelSet operator&(LevelSet a, LevelSet b) { return of_bits(a.bits_ & b.bits_); }
  // Those of `a` that are not in `b`.
  friend constexpr LevelSet operator-(LevelSet a, LevelSet b) {
    a.remove(b);
    return a;
  }

  class Iterator {
   public:
    using value_type = LevelId;
    using difference_type = std::ptrdiff_t;
    constexpr Iterator() = default;
    constexpr explicit Iterator(std::uint8_t left) : left_(left) {}
    constexpr LevelId operator*() const { return static_cast<LevelId>(std::countr_zero(left_)); }
    constexpr Iterator& operator++() {
      left_ &= static_cast<std::uint8_t>(left_ - 1U);
      return *this;
    }
    constexpr Iterator operator++(int) {
      const Iterator now = *this;
      ++*this;
      return now;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    std::uint8_t left_ = 0;
  };
  [[nodiscard]] constexpr Iterator begin() const { return Iterator(bits_); }
  [[nodiscard]] constexpr Iterator end() const { return {}; }

 private:
  static constexpr std::uint8_t bit(LevelId level) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(level));
  }
  std::uint8_t bits_ = 0;
};

inline constexpr LevelId kAllLevels[] = {LevelId::local, LevelId::partner, LevelId::erasure, LevelId::global};

// A snapshot's identity. Snapshots of different identities are never mixed.
struct Identity {
  Incarnation incarnation;
  Version version;
  RunId run;
  friend auto operator<=>(const Identity&, const Identity&) = default;
};

}  // namespace cairn
