// L1: every node keeps its own ranks' shards. To protect means to digest what the ranks wrote. A restore moves a
// shard only if its rank has moved to another node.
#pragma once

#include "level/level.hpp"

namespace cairn {

class LocalLevel final : public Level {
 public:
  LocalLevel() : Level({.effort = Effort::file, .is_own_shards = true}) {}

  [[nodiscard]] bool is_carried_by(const Layout& layout) const override;
  [[nodiscard]] bool survives(const Layout& layout, const std::vector<bool>& gone, std::uint64_t turn) const override;
  [[nodiscard]] std::uint64_t extra_bytes(std::uint64_t own_bytes, const Layout& layout, NodeId me) const override;
  [[nodiscard]] bool is_in(const Holding& holding) const override;
  void note(KnownParts::Parts& parts, LevelId self, const HoldingSummary& part, Peer holder) const override;
  void forget(Holding& holding) const override;
  [[nodiscard]] std::vector<NamedFile> files(const DirName& dir, const Holding& holding) const override;
  [[nodiscard]] std::unique_ptr<SourceFinder> sources(const KnownParts& known) const override;
  [[nodiscard]] std::string describe(const Delivery& delivery) const override;
  [[nodiscard]] Status protect(Comm& heads, const NodeContext& node, NodeManifest& manifest,
                               std::uint64_t turn) override;
  [[nodiscard]] Result<RestoreOutcome> restore(Comm& heads, const NodeContext& node, const RestoreTask& task) override;
};

// The part of protecting that needs no other node: digests one rank's shard. Where its blocks have a SHA-256, calls
// `between` after every block.
[[nodiscard]] Result<ShardEntry> digest_own_shard(const NodeContext& node, const Identity& identity, Rank rank,
                                                  const std::function<void()>& between);

}  // namespace cairn
