// L2: every node's shards are copied whole to `copies` partners, whose placement takes turns.
#pragma once

#include "level/level.hpp"

namespace cairn {

class PartnerLevel final : public Level {
 public:
  [[nodiscard]] LevelId id() const override { return LevelId::partner; }
  [[nodiscard]] Status protect(Comm& heads, const NodeContext& node, NodeManifest& manifest,
                               std::uint64_t turn) override;
  [[nodiscard]] Result<RestoreOutcome> restore(Comm& heads, const NodeContext& node, const RestoreTask& task) override;
  [[nodiscard]] Status discard(const NodeContext& node, NodeManifest& manifest, LayoutId layout) override;
};

}  // namespace cairn
