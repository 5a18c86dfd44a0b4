// The files of a snapshot at L4 that are written once, after the node files. Local.
#pragma once

#include <vector>

#include "level/global_messages.hpp"

namespace cairn {

// Writes the master file and the manifest beside the node files in `dir`, and returns the manifest. `draft` has the
// identity, the safe point and the layout. `nodes`: what is known of each node's file, by node. Requires: each rank of
// the layout is in the report of its node.
[[nodiscard]] Result<GlobalManifest> write_master_and_manifest(Store& global, const DirName& dir, GlobalManifest draft,
                                                               std::vector<NodeReport> nodes, const Sealer& sealer);

}  // namespace cairn
