// What the last snapshots of two runs of a program differ in, region by region. Local.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/region.hpp"
#include "inspect/snapshot_reader.hpp"

namespace ckpt_run {

// One region of one rank.
struct RegionDifference {
  enum class Kind : std::uint8_t {
    values,   // elements differ
    shape,    // type or shape differ
    missing,  // only the first run has it
    added,    // only the second run has it
  };
  Kind kind = Kind::values;
  std::string region;
  cairn::Rank rank;
  bool opaque = false;  // its elements are of a type of the user's, whose padding may differ
  // Of Kind::values. Indices count elements in the order in which they lie in memory.
  std::uint64_t elements = 0;
  std::uint64_t differing = 0;
  std::uint64_t first = 0;
  // The first element that differs, or the type, in the first and in the second run: "0.25", "float64[100]".
  std::string expected;
  std::string found;
  friend bool operator==(const RegionDifference&, const RegionDifference&) = default;
};

struct RunDifference {
  std::vector<RegionDifference> regions;  // by name, then by rank
  std::uint64_t compared = 0;             // names of regions
  std::uint64_t bytes = 0;                // of the first run
  [[nodiscard]] bool none() const { return regions.empty(); }
};

// Whether two elements are equal: bit by bit; or floating-point numbers may differ by `tolerance` times the larger
// absolute value of the two. Both have `type`'s size.
[[nodiscard]] bool are_equal(cairn::ElementType type, cairn::Bytes a, cairn::Bytes b, double tolerance);

// Both snapshots have the same number of ranks, and sources for all.
[[nodiscard]] cairn::Result<RunDifference> compare_runs(cairn::SnapshotReader& expected, cairn::SnapshotReader& found,
                                                        double tolerance);

}  // namespace ckpt_run
