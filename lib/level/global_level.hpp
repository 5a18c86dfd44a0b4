// L4: the snapshot as HDF5 files on the parallel file system, one a node and a master over them. Everything is
// written into a directory that is renamed into place at the end.
#pragma once

#include "level/level.hpp"

namespace cairn {

class GlobalLevel final : public Level {
 public:
  [[nodiscard]] LevelId id() const override { return LevelId::global; }
  // Refuses with Code::taken_over when a newer incarnation uses the global store.
  [[nodiscard]] Status protect(Comm& heads, const NodeContext& node, NodeManifest& manifest,
                               std::uint64_t turn) override;
  [[nodiscard]] Result<RestoreOutcome> restore(Comm& heads, const NodeContext& node, const RestoreTask& task) override;
  // Nothing: the node holds nothing of this level.
  [[nodiscard]] Status discard(const NodeContext& node, NodeManifest& manifest, LayoutId layout) override;
};

[[nodiscard]] Result<GlobalManifest> read_global_manifest(const Store& global, const DirName& dir);

// Whether `incarnation` with `run` is still the newest life of the job that the global store knows.
[[nodiscard]] Status check_not_taken_over(const Store& global, Incarnation incarnation, RunId run);

}  // namespace cairn
