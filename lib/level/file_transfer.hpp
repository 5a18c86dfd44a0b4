// Moves whole shards between node stores: the restore of L1 (a rank that has moved) and of L2 (a copy comes
// home) are the same thing.
#pragma once

#include "level/level.hpp"

namespace cairn {

// Executes the deliveries of a task, each from `holder`'s store to `to`'s, where it lands under the shard's own
// name. A delivery within one store is a plain copy of the file, or nothing when it is in place. Collective.
[[nodiscard]] Result<RestoreOutcome> transfer_files(Comm& heads, const NodeContext& node, const RestoreTask& task);

// The entry that a manifest has for a file in its store: an own shard or a copy.
[[nodiscard]] Result<ShardEntry> entry_of(const NodeManifest& manifest, const Delivery& delivery);

}  // namespace cairn
