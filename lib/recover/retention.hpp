// Which snapshots are kept: those that are, for some level i, among the newest K_i complete at level i. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"

namespace cairn {

// K of each level: how many snapshots it keeps.
struct KeepCounts {
  std::uint32_t at[kMostLevels] = {2, 1, 1, 1, 1, 1, 1};  // K1, K2 …
  [[nodiscard]] std::uint32_t of(LevelId level) const { return at[static_cast<std::size_t>(level) - 1]; }
};

struct KnownSnapshot {
  Identity identity;
  LevelSet complete;
  LevelSet struck = {};    // it would be complete there, but files were found bad
  bool in_flight = false;  // a promotion reads it
  bool abandoned = false;  // the job is on another branch
  bool pinned = false;     // it stays in stores of all nodes
};

// Snapshots whose node-store files can go; `levels`: those that have files there. A snapshot that is complete nowhere
// can go once a newer one is complete somewhere. A snapshot that is struck at a level does not count there, so no other
// snapshot goes because of it. The good files of the newest struck one are kept until enough newer ones are complete at
// that level. Abandoned ones are kept until one of the job's branch is complete there.
[[nodiscard]] std::vector<Identity> retirable(const std::vector<KnownSnapshot>& known, const KeepCounts& keep,
                                              LevelSet levels);

// The same for the store of a level that all nodes share. Pinned snapshots stay there, in addition to those that are
// kept.
[[nodiscard]] std::vector<Identity> retirable_at(LevelId level, const std::vector<KnownSnapshot>& known,
                                                 const KeepCounts& keep);

// The number of snapshots of one rank that may be in a node store at once: those that these levels keep there, one
// being written, and one under way.
[[nodiscard]] std::uint32_t slots_needed(const KeepCounts& keep, LevelSet levels);

}  // namespace cairn
