// Which snapshots are kept: while, for some level i, a snapshot is among the newest K_i complete at level i. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"

namespace cairn {

struct KeepCounts {
  std::uint32_t at[kLevels] = {2, 1, 1, 1};  // K1 … K4
};

struct KnownSnapshot {
  Identity identity;
  LevelSet complete;
  LevelSet struck = {};    // it would be complete there but for files that were found bad
  bool in_flight = false;  // a promotion reads it
};

// Snapshots whose node-store files can go. K4 counts in the global store only. One that is complete nowhere goes once
// a newer one is complete somewhere. One that is struck at a level does not count there, so that nothing goes because
// of it; what is sound of the newest such one is kept until enough newer ones are complete at that level.
[[nodiscard]] std::vector<Identity> retirable(const std::vector<KnownSnapshot>& known, const KeepCounts& keep);

// The same for the global store.
[[nodiscard]] std::vector<Identity> retirable_globally(const std::vector<KnownSnapshot>& known, const KeepCounts& keep);

// Snapshots of one rank that may be in a node store at once: what is kept, one being written, one under way.
[[nodiscard]] std::uint32_t slots_needed(const KeepCounts& keep, LevelSet usable);

}  // namespace cairn
