// Whether the next run of a job restores a snapshot of another number of ranks. Looks only at stores that are visible
// on this host: the global one, and those of this host's nodes. Reads manifests and no data. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.hpp"
#include "placement.hpp"

namespace ckpt_run {

struct SnapshotOfOtherRanks {
  std::uint32_t version = 0;
  std::uint32_t ranks = 0;
  std::uint32_t now = 0;            // ranks of the next run
  bool may_have_successor = false;  // in the stores of other hosts
  friend bool operator==(const SnapshotOfOtherRanks&, const SnapshotOfOtherRanks&) = default;
};

// The newest snapshot that a run with this placement can restore. None: it has as many ranks as the run; or the run
// starts fresh, refuses the snapshot, or its stores cannot be read.
[[nodiscard]] std::optional<SnapshotOfOtherRanks> snapshot_of_other_ranks(
    const cairn::Config& config, const Placement& placement, const std::function<bool(std::string_view host)>& is_here);

// "version 52 of 8 ranks is restored on 6"
[[nodiscard]] std::string text_of(const SnapshotOfOtherRanks& snapshot);

}  // namespace ckpt_run
