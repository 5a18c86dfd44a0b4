// Kinds: what a protected region is to the whole job. They tell which elements go to which rank if a job has another
// number of ranks than its snapshot. Otherwise they change nothing, except that a sequence_part() or of_rank() may name
// elements of other ranks.
//
//     session.protect("step", step, cairn::same);
//     session.protect("ids", ids, cairn::sequence);
//     session.protect("x", x, cairn::like("ids"));  // x[i] belongs to ids[i]
//     session.protect("log", log, cairn::of_rank(0));
//
// A part of a global array has the kind that its GlobalPlace describes. A region without a kind can only be restored by
// as many ranks as the snapshot has, which have the same parts of arrays. Kinds are not stored: the program that
// restores passes them to protect().
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace cairn {

// The type of same.
struct Same {
  // Makes a tag; use same.
  explicit Same() = default;
};
// One value, which all ranks have, such as a step counter. restore() compares the values of all old ranks.
inline constexpr Same same{};

// The type of sequence.
struct Sequence {
  // Makes a tag; use sequence.
  explicit Sequence() = default;
};
// The elements of all ranks, in the order of ranks, are one sequence, such as particles. An element is one step in the
// region's first dimension. On another number of ranks, each rank gets an equal share.
inline constexpr Sequence sequence{};

// A sequence of which this rank gets a certain part.
struct SequencePart {
  std::uint64_t first = 0;  // in the sequence of all ranks
  std::uint64_t count = 0;  // of elements
};
// Returns the kind of a sequence of which this rank gets `count` elements, from `first` on. The parts of all ranks
// cover each element exactly once.
[[nodiscard]] constexpr SequencePart sequence_part(std::uint64_t first, std::uint64_t count) { return {first, count}; }

// A sequence that is cut where another one is cut.
struct Like {
  std::string region;  // name of the other sequence
};
// Returns the kind of a sequence that is cut where the sequence `region` is. On each old rank, it has as many elements,
// or k times as many, with one k for all ranks. Use it for structures of arrays.
[[nodiscard]] inline Like like(std::string region) { return {std::move(region)}; }

// What one old rank had.
struct OfRank {
  std::uint32_t rank = 0;  // of the job that took the snapshot
};
// Returns the kind of a region that gets what rank `rank` of the snapshot had. Other old ranks need not have it.
[[nodiscard]] constexpr OfRank of_rank(std::uint32_t rank) { return {rank}; }

// One of the types above.
template <class T>
concept RegionKind = std::same_as<T, Same> || std::same_as<T, Sequence> || std::same_as<T, SequencePart> ||
    std::same_as<T, Like> || std::same_as<T, OfRank>;

namespace detail {
// None, or one of them.
using AnyKind = std::variant<std::monostate, Same, Sequence, SequencePart, Like, OfRank>;
}  // namespace detail

}  // namespace cairn
