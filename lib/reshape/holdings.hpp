// The regions of old ranks that one member holds, by old rank and by number in the roster. Local.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "reshape/finding.hpp"
#include "reshape/placement.hpp"
#include "reshape/roster.hpp"

namespace cairn::reshape {

struct HeldRegion {
  const RegionInfo* info = nullptr;
  ReadRuns read;
  LocalArray array;  // of a sequence: at 0, until place_sequence()
  Box owned;         // of a block or sequence, in the array or sequence; empty of others
};

class Holdings {
 public:
  Holdings() = default;
  // `input` must outlive it. Regions that do not fit the roster are left out, and are the finding.
  Holdings(const Input& input, const Roster& roster);

  [[nodiscard]] const Findings& finding() const { return finding_; }
  // The same of one more old rank, which must outlive it.
  void add(const OldRank& rank, const Roster& roster);
  // By (old rank, number of the region), in that order.
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  [[nodiscard]] const std::map<Key, HeldRegion>& regions() const { return regions_; }
  [[nodiscard]] const HeldRegion* find(Rank old_rank, std::uint32_t region) const;
  // Its elements follow so many others of the sequence.
  void place_sequence(Rank old_rank, std::uint32_t region, std::uint64_t elements_before);

 private:
  void add(const OldRank& rank, std::size_t position, const Roster& roster);

  std::map<Key, HeldRegion> regions_;
  Findings finding_;
};

// The bytes of one region as an array that no other rank has a part of.
[[nodiscard]] LocalArray as_bytes(std::uint64_t size_bytes);

}  // namespace cairn::reshape
