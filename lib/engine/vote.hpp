// What heads reduce to decide on a version: whether every node has sealed it, for the same levels and at the same safe
// point. A head whose ranks all wait for a restore, or for the end, votes that it has no version and that none will
// come; when all heads do so, nothing is under way any more. What is said here of a restore holds for all settled calls
// (engine/messages). Both kinds of vote also name earlier versions of which a
// store has lost its part. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "engine/messages.hpp"

namespace cairn {

class Vote {
 public:
  // One node's part of a version.
  [[nodiscard]] static Vote on(Version version, LevelSet levels, std::uint64_t safe_point);
  // No version comes from this node. `highest`: the highest number that one of its ranks has used; `waiting`: what its
  // ranks wait for.
  struct Waiting {
    std::vector<RestoreRequest> for_restore;
    bool for_end = false;
  };
  [[nodiscard]] static Vote on_nothing(NodeId node, Version highest, const Waiting& waiting);
  // This node could not seal its part.
  void fail(NodeId node, Code code);
  // This node's store has lost its part of an earlier version. There is room for a few; if two share a place, the older
  // waits for the next vote.
  void note_lost(Version version);
  // A rank has left its session, so that the version cannot be completed.
  void note_left(const RankLeft& left) { words_[kLeft] = to_word(left); }
  // What a rank of this node has set; see format/notes. The word is 0 where it has set none, which differs from
  // nothing.
  void note_label(std::uint64_t digest) { note(kLabel, digest); }
  void note_attributes(std::uint64_t digest) { note(kAttributes, digest); }
  // A rank of this node has pinned it.
  void note_pin() { words_[kPin] = 1; }
  // The layout to which this head would like to change, without its arrangement (recover/roll_call: PlacesOfShape).
  void note_layout(LayoutId layout, std::uint64_t same_place, std::uint64_t other_place);
  void note_no_layout() { put(kLayout, 0); }

  // Reduce these by maximum, word by word.
  [[nodiscard]] std::span<std::uint64_t> words() { return words_; }

  // From here on: of the reduced vote. Whether no head had a version.
  [[nodiscard]] bool nothing_is_left() const;
  // Why ranks cannot have what they wait for, where some have called restore and others finalize.
  [[nodiscard]] std::optional<Error> different_calls() const;
  // What the ranks that wait for a restore have asked for, but for the label; an error: not all for the same. Of a
  // close(): whether some rank rejects the version.
  [[nodiscard]] Result<RestoreRequest> request() const;
  // Whether they have asked for a label. Requires: request() is good.
  [[nodiscard]] bool is_for_label() const;
  // Why the version is not sealed; none: it is.
  [[nodiscard]] std::optional<Error> objection() const;
  // The node that could not seal its part; where several could not, one of them.
  [[nodiscard]] std::optional<NodeId> failed_node() const;
  // What the version was to reach, where all heads that had it said the same; else nothing.
  [[nodiscard]] LevelSet levels() const;
  [[nodiscard]] Version highest() const;
  // The layout that all heads would like to change to; none: they would not, or to different ones.
  struct AgreedLayout {
    LayoutId id;
    std::uint64_t same_place = 0;
    std::uint64_t other_place = 0;
  };
  [[nodiscard]] std::optional<AgreedLayout> layout() const;
  [[nodiscard]] bool has_lost(Version version) const;
  [[nodiscard]] bool has_pin() const { return words_[kPin] != 0; }
  // Who has left, of those that keep the version from being sealed.
  [[nodiscard]] std::optional<RankLeft> left() const { return left_of_word(words_[kLeft]); }

 private:
  // A value that must be equal everywhere has its complement beside it: the two maxima are complements only if all
  // heads gave the same value. A head without a version gives zeros.
  enum Word : std::size_t {
    kFailed,
    kSealing,
    kNothing,
    kHighest,
    kForRestore,
    kForEnd,
    kLeft,
    kVersion,
    kDue = kVersion + 2,
    kSafePoint = kDue + 2,
    kRequest = kSafePoint + 2,
    kCall = kRequest + 2,
    kLayout = kCall + 2,
    kSamePlace = kLayout + 2,
    kOtherPlace,
    kLabel,
    kAttributes = kLabel + 2,
    kPin = kAttributes + 2,
    kRejects,
    kLost
  };
  static constexpr std::size_t kLostWords = 8;
  static constexpr std::size_t kWords = kLost + kLostWords;

  void put(Word word, std::uint64_t value);
  void note(Word word, std::uint64_t digest);
  [[nodiscard]] bool all_gave_the_same(Word word) const { return words_.at(word) == ~words_.at(word + 1); }

  std::array<std::uint64_t, kWords> words_{};
};

// What ranks of one node, or nodes, may find of each other.
[[nodiscard]] Error different_levels(LevelSet one, LevelSet other);
[[nodiscard]] Error different_safe_points(std::uint64_t one, std::uint64_t other);
[[nodiscard]] Error different_labels();
[[nodiscard]] Error different_attributes();

}  // namespace cairn
