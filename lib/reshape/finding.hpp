// What is wrong with an exchange, as facts, and the agreement of all members on it. text_of() makes the sentence, last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/comm.hpp"
#include "reshape/box.hpp"

namespace cairn::reshape {

// The comments say what `ranks`, `range`, `numbers` and `texts` of a Finding are. New ranks are those of this run.
enum class Cause : std::uint8_t {
  // Of what the new ranks say.
  impossible,       // new rank; texts: what is wrong with a place, a part or a size
  unsaid,           // texts: names of regions; numbers: of each, the hints of `Hint`
  kinds_differ,     // two new ranks; texts: what each says
  types_differ,     // two new ranks; texts: the types
  shapes_differ,    // two new ranks; texts: fixed dimensions or global shapes
  not_wanted,       // new rank, on which the region is missing, while a sequence and `same` need it on all
  like_unknown,     // new rank; texts: the sequence that is to be like another, which is none
  part_outside,     // new rank; range: of the sequence; numbers: its length
  parts_overlap,    // two new ranks; range: of the array or sequence
  parts_leave_gap,  // range
  // Of the snapshot, compared with it.
  rank_not_held,    // old rank, which nobody holds, or which the snapshot has not
  rank_held_twice,  // old rank
  not_stored,       // ranks: old ranks without the region; none: no old rank has it
  not_protected,    // old rank that has the region, which no new rank wants
  old_type,         // old rank; texts: type there, type that is wanted
  old_shape,        // old rank; texts: shape there, what is wanted
  no_place,         // old rank, whose table says no place in a global array
  values_differ,    // two old ranks; of a block, range: where; of a region that is to be the same, texts: its type
  like_counts,      // old rank; numbers: its elements in the one sequence and in the other; texts: the other
  old_gap,          // range that no old rank owns
  too_long,         // a sequence has too many elements
  // Of memory and files.
  size_differs,  // new rank; numbers: bytes that it has, bytes of its share; range: its share
  no_memory,     // new rank; numbers: bytes
  unreadable,    // old rank; texts: the error's message, hint and file; numbers: its code
  // A defect.
  damaged_message,  // new rank, which got it
};
inline constexpr std::uint8_t kCauses = static_cast<std::uint8_t>(Cause::damaged_message) + 1;

struct Hint {
  static constexpr std::uint64_t equal_everywhere = 1;  // all old ranks have equal bytes
  static constexpr std::uint64_t has_place = 2;         // the snapshot says a place in a global array
};

struct Finding {
  Cause cause{};
  std::string region = {};
  std::vector<std::uint32_t> ranks = {};
  Box range = {};
  std::vector<std::uint64_t> numbers = {};
  std::vector<std::string> texts = {};
  friend bool operator==(const Finding&, const Finding&) = default;
};

void fields(auto& io, Finding& m) {
  auto cause = static_cast<std::uint8_t>(m.cause);
  io(cause), io(m.region), io(m.ranks), io(m.range), io(m.numbers), io(m.texts);
  io.check(cause < kCauses);
  m.cause = static_cast<Cause>(cause < kCauses ? cause : 0);
}

using Findings = std::optional<Finding>;  // none: nothing is wrong

// The finding of the lowest member that has one, on all members. An error: a member cannot be reached. Collective.
[[nodiscard]] Result<Findings> agree_on(Comm& comm, const Findings& mine);

[[nodiscard]] Error error_of(const Finding& finding);

// Whether as many ranks as the snapshot has may restore it as it is.
[[nodiscard]] bool is_of_number(const Finding& finding);

}  // namespace cairn::reshape
