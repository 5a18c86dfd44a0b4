// L4: the snapshot as HDF5 files on the parallel file system, one a node and a master over them. Everything is
// written into a directory that is renamed into place at the end.
#pragma once

#include <map>

#include "format/hdf5/hdf5_file.hpp"
#include "level/level.hpp"

namespace cairn {

class GlobalLevel final : public Level {
 public:
  [[nodiscard]] LevelId id() const override { return LevelId::global; }
  // Writes this node's data, which a slow store takes in while its digests are computed: each block when it is in
  // cache.
  void begin(const NodeContext& node, const Identity& snapshot) override;
  void go_on(const Identity& snapshot) override;
  void abandon(const NodeContext& node, const Identity& snapshot) override;
  // Refuses with Code::taken_over when a newer incarnation uses the global store.
  [[nodiscard]] Status protect(Comm& heads, const NodeContext& node, NodeManifest& manifest,
                               std::uint64_t turn) override;
  [[nodiscard]] Result<RestoreOutcome> restore(Comm& heads, const NodeContext& node, const RestoreTask& task) override;
  // Nothing: the node holds nothing of this level.
  [[nodiscard]] Status discard(const NodeContext& node, NodeManifest& manifest, LayoutId layout) override;

 private:
  [[nodiscard]] Result<NodeFileWriter> take_begun(const NodeContext& node, const Identity& snapshot);

  std::map<Identity, Result<NodeFileWriter>> begun_;
};

// Whether `incarnation` with `run` is still the newest life of the job that the global store knows.
[[nodiscard]] Status check_not_taken_over(const Store& global, Incarnation incarnation, RunId run);

}  // namespace cairn
