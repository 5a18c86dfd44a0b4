// What a region is to the whole job, as the application says at restart, and what the ranks put into the exchange: the
// regions of the old ranks that they hold, and the regions that they want. Plain data.
//
// Nothing of it is stored. A snapshot has one region per name and rank; only what the ranks say at restart tells what
// these regions are together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/region.hpp"
#include "reshape/local_array.hpp"

namespace cairn::reshape {

// Nothing: such a region cannot be restored on another number of ranks.
struct Unsaid {};

// A block of a global array. A new rank's memory has its owned elements and, around them, its ghosts. Only owned
// elements are data. Ghosts that lie in the global array are filled with what their owner has; others, which lie
// outside it, are left as they are. The wanted region keeps its size: its place and its size say what is wanted.
//
// The old ranks' blocks are where their tables say. A table may have the widths of ghosts. If it does not, all of the
// block is there, and the old rank owns all but `stored_ghosts` elements at each side. A side that ends exactly at the
// array's border has no ghosts. Elements that two old ranks own must be equal, so a ghost that is taken for an owned
// element is found, unless it has the right value.
struct Block {
  std::vector<std::uint64_t> shape;          // of the global array, in elements
  std::vector<std::uint64_t> offset;         // of the first owned element there
  std::vector<std::uint64_t> ghosts_before;  // in each dimension, in memory; empty: none
  std::vector<std::uint64_t> ghosts_after;
  std::vector<std::uint64_t> stored_ghosts;  // of the old ranks' blocks; all ranks say the same; empty: none
};

// The elements of all old ranks, in the order of ranks, are one sequence, of which each new rank gets a part. An
// element is one step in the region's first dimension.
//
// Rows of different lengths, end to end: restore their lengths as one sequence, and then, by a second exchange, the
// rows as another, with the parts that follow from the lengths.
struct Sequence {
  struct Part {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  std::optional<Part> part = {};  // none: the sequence is cut evenly among all new ranks
  // Not empty: this sequence is cut where the sequence of that name is. Each old rank has the same number of elements
  // in both, or k times as many here, with one k for all ranks.
  std::string like = {};
};

// One value, which all old ranks have. Their bytes are compared.
struct Same {};

// What that old rank has. Other old ranks need not have such a region, and nothing is compared.
struct OfRank {
  Rank rank;
};

// The numbers of the alternatives are sent; their names are in text.cpp.
using Share = std::variant<Unsaid, Block, Sequence, Same, OfRank>;

// A region that this rank wants. Its name, type and fixed dimensions must be those of the snapshot.
struct Wanted {
  // Gives the region so many steps of its first dimension, and returns its bytes. May throw std::bad_alloc or
  // std::length_error.
  using Resize = std::function<MutableBytes(std::uint64_t steps)>;

  RegionInfo info;  // `shape` is that of the memory. With a Resize, its first number counts for nothing
  Share share;
  // Where the bytes go: to memory whose size is fixed, or to what the function returns, which is called once, when all
  // ranks know that all is right. A block always has fixed memory.
  std::variant<MutableBytes, Resize> memory;
};

// The regions of one old rank. A member of the exchange may hold those of none, one or several.
struct OldRank {
  Rank rank;
  std::vector<RegionInfo> regions;  // as its table says; a global_offset is read as a signed number
  // Fills runs of regions[region], checked. Is called only inside the calls of the exchange, by one thread.
  std::function<Status(std::size_t region, std::span<const Run> runs)> read;
};

// What one member brings to the exchange. Each old rank must be held by exactly one member.
struct Input {
  std::uint32_t old_ranks = 0;
  std::vector<OldRank> held;
  std::vector<Wanted> wanted;  // no name twice
  // An old rank that another member holds, if this member can read it, too: then it orders nothing of it. None: it
  // cannot. May be empty. What it returns stays as long as the Input.
  std::function<const OldRank*(Rank)> reach = {};
};

}  // namespace cairn::reshape
