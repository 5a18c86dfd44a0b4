// The files that a node's manifest names, whatever holding names them: what a store should have of a snapshot. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "base/sha256.hpp"
#include "format/manifest.hpp"
#include "store/store.hpp"

namespace cairn {

struct NamedFile {
  FileName name;
  LevelId level = LevelId::local;
  const Holding* holding = nullptr;  // the manifest's
  NodeId node;                       // whose shard or copy; for parity, who keeps it
  ShardEntry shard;                  // of a shard or copy
  ParityEntry parity;
  [[nodiscard]] std::uint64_t bytes() const { return level == LevelId::erasure ? parity.bytes : shard.bytes; }
  [[nodiscard]] const Sha256& digest() const { return level == LevelId::erasure ? parity.digest : shard.digest; }
};

// Each once, though several holdings may name it; by name.
[[nodiscard]] std::vector<NamedFile> files_named(const NodeManifest& manifest);

}  // namespace cairn
