// L1: every node keeps its own ranks' shards. Protecting is checking and digesting what the ranks wrote; a restore
// moves a shard only when its rank has moved to another node.
#pragma once

#include "level/level.hpp"

namespace cairn {

class LocalLevel final : public Level {
 public:
  [[nodiscard]] LevelId id() const override { return LevelId::local; }
  [[nodiscard]] Status protect(Comm& heads, const NodeContext& node, NodeManifest& manifest,
                               std::uint64_t turn) override;
  [[nodiscard]] Result<RestoreOutcome> restore(Comm& heads, const NodeContext& node, const RestoreTask& task) override;
  [[nodiscard]] Status discard(const NodeContext& node, NodeManifest& manifest, LayoutId layout) override;
};

// The part of protecting that needs no other node: checks and digests one rank's shard. Calls `between` after every
// block.
[[nodiscard]] Result<ShardEntry> digest_own_shard(const NodeContext& node, const Identity& identity, Rank rank,
                                                  const std::function<void()>& between);

}  // namespace cairn
