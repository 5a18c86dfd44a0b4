// L3: Reed–Solomon across the nodes of a group. Every node's volume is cut into n − m chunks, one for each column
// in which the node has no parity; any m nodes of a group may be lost. Plank et al. describe the code (Cauchy
// Reed–Solomon, DOI 10.1109/NCA.2006.43); the rotation of columns is that of RAID 5.
#pragma once

#include "level/level.hpp"

namespace cairn {

class ErasureLevel final : public Level {
 public:
  [[nodiscard]] LevelId id() const override { return LevelId::erasure; }
  [[nodiscard]] Status protect(Comm& heads, const NodeContext& node, NodeManifest& manifest,
                               std::uint64_t turn) override;
  [[nodiscard]] Result<RestoreOutcome> restore(Comm& heads, const NodeContext& node, const RestoreTask& task) override;
  [[nodiscard]] Status discard(const NodeContext& node, NodeManifest& manifest, LayoutId layout) override;
};

// Bytes of one chunk of a group whose longest volume is `longest_bytes`.
[[nodiscard]] std::uint64_t chunk_bytes(std::uint64_t longest_bytes, const ErasureShape& shape);

}  // namespace cairn
