// L4: the snapshot as HDF5 files on the parallel file system, one a node and a master over them. Everything is
// written into a directory that is renamed into place at the end.
#pragma once

#include "level/level.hpp"

namespace cairn {

class GlobalLevel final : public Level {
 public:
  // Not rebuilt after a restore: the next snapshot at this level comes soon enough.
  GlobalLevel() : Level({.effort = Effort::shared, .shared_store = StoreId::global()}) {}

  [[nodiscard]] bool is_carried_by(const Layout& layout) const override;
  [[nodiscard]] bool survives(const Layout& layout, const std::vector<bool>& gone, std::uint64_t turn) const override;
  [[nodiscard]] std::uint64_t extra_bytes(std::uint64_t own_bytes, const Layout& layout, NodeId me) const override;
  [[nodiscard]] bool looks_whole(const NodeContext& node, const Identity& snapshot,
                                 const NodeManifest* manifest) const override;
  // Refuses with Code::taken_over when a newer incarnation uses the global store.
  [[nodiscard]] Status protect(Comm& heads, const NodeContext& node, NodeManifest& manifest,
                               std::uint64_t turn) override;
  // Each head reads what the global store has of the shards of its ranks; head 0 reads manifest and master file.
  [[nodiscard]] Status confirm(Comm& heads, const NodeContext& node, const NodeManifest& manifest,
                               Reads reads) const override;
  [[nodiscard]] Result<RestoreOutcome> restore(Comm& heads, const NodeContext& node, const RestoreTask& task) override;
  [[nodiscard]] std::shared_ptr<Store> store(const NodeContext& node) const override { return node.global; }
  [[nodiscard]] Result<std::shared_ptr<const SharedSnapshot>> look_at(const Store& store, const DirName& dir,
                                                                      const Sealer& sealer) const override;
  [[nodiscard]] std::unique_ptr<SourceFinder> sources(const KnownParts& known) const override;
  [[nodiscard]] std::string describe(const Delivery& delivery) const override;
};

// Whether `incarnation` with `run` is still the newest life of the job that the global store knows.
[[nodiscard]] Status check_not_taken_over(const Store& global, Incarnation incarnation, RunId run);

}  // namespace cairn
