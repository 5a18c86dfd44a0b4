// L3: Reed–Solomon across the nodes of a group. Every node's volume is cut into n − m chunks, one for each column
// in which the node has no parity; any m nodes of a group may be lost. Plank et al. describe the code (Cauchy
// Reed–Solomon, DOI 10.1109/NCA.2006.43); the rotation of columns is that of RAID 5.
#pragma once

#include "level/level.hpp"

namespace cairn {

class ErasureLevel final : public Level {
 public:
  ErasureLevel() : Level({.effort = Effort::decode, .is_rebuilt = true}) {}

  [[nodiscard]] bool is_carried_by(const Layout& layout) const override;
  [[nodiscard]] bool survives(const Layout& layout, const std::vector<bool>& gone, std::uint64_t turn) const override;
  [[nodiscard]] std::uint64_t extra_bytes(std::uint64_t own_bytes, const Layout& layout, NodeId me) const override;
  [[nodiscard]] bool is_in(const Holding& holding) const override;
  void note(KnownParts::Parts& parts, LevelId self, const HoldingSummary& part, Peer holder) const override;
  void forget(Holding& holding) const override;
  [[nodiscard]] bool is_file(std::string_view name, LayoutId layout) const override;
  [[nodiscard]] std::vector<NamedFile> files(const DirName& dir, const Holding& holding) const override;
  [[nodiscard]] Status verify(const Store& store, const Identity& snapshot, const NamedFile& file,
                              const std::function<void()>& between) const override;
  [[nodiscard]] std::unique_ptr<SourceFinder> sources(const KnownParts& known) const override;
  [[nodiscard]] Result<std::vector<Strike>> blame(Comm& heads, const NodeContext& node, const RestoreTask& task,
                                                  const std::vector<std::size_t>& wrong, bool struck) const override;
  [[nodiscard]] std::string describe(const Delivery& delivery) const override;
  [[nodiscard]] Status protect(Comm& heads, const NodeContext& node, NodeManifest& manifest,
                               std::uint64_t turn) override;
  [[nodiscard]] Result<RestoreOutcome> restore(Comm& heads, const NodeContext& node, const RestoreTask& task) override;

 protected:
  [[nodiscard]] bool begins_well(const Store& store, const Identity& snapshot, const NamedFile& file) const override;
};

// Bytes of one chunk of a group whose members have volumes of these sizes, so that all fit into their chunks.
[[nodiscard]] std::uint64_t chunk_bytes(const std::vector<std::uint64_t>& volume_bytes, const ErasureShape& shape);

}  // namespace cairn
