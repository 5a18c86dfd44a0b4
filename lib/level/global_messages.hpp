// What heads send each other about the files of L4: at a snapshot, reports of the node files to head 0; at a restore,
// the parts of the manifest that each head needs, from head 0.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "format/hdf5/hdf5_file.hpp"
#include "format/shard.hpp"
#include "level/level.hpp"

namespace cairn {

// What the master and the manifest need to know of a node: its shards, their regions, its file.
struct NodeReport {
  WrittenFile file;
  std::vector<ShardEntry> shards;
  std::vector<ShardHeader> headers;
  std::vector<std::vector<PlacedRegion>> tables;
  SnapshotNotes notes = {};
};

// Sends each node's report to head 0, one after the other, so that their sizes need not be known. On head 0, returns
// all of them, by node; elsewhere none. Collective over the heads.
[[nodiscard]] Result<std::vector<Buffer>> gather_reports(Comm& heads, const NodeReport& mine);
[[nodiscard]] Result<NodeReport> decode_report(Bytes bytes, NodeId node);

// Where a rank's shard is in the global store, its entry, and the check of its node file.
struct GlobalPart {
  NodeId node;
  ShardEntry shard;
  bool has_check = false;  // else an older Cairn wrote it, without a check
  WrittenFile file = {};
};

// Head 0 calls `read` for the manifest, which may be large, and sends each head its part of it. Returns the parts of
// this head's ranks; none: the manifest cannot be used. Collective over the heads.
[[nodiscard]] Result<std::vector<GlobalPart>> share_parts(Comm& heads, const RestoreTask& task,
                                                          const std::function<std::optional<GlobalManifest>()>& read);

}  // namespace cairn
