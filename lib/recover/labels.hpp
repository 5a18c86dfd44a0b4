// Which snapshots have a label, and which one somebody means by it.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "comm/comm.hpp"
#include "format/manifest.hpp"
#include "level/level.hpp"

namespace cairn {

struct LabeledSnapshot {
  Identity snapshot;
  std::string label;
  friend bool operator==(const LabeledSnapshot&, const LabeledSnapshot&) = default;
};

// Of this node's store and, on head 0, of these snapshots in the global one. What cannot be read there has none. Local.
[[nodiscard]] std::vector<LabeledSnapshot> labels_here(const NodeContext& node,
                                                       const std::vector<NodeManifest>& manifests,
                                                       const std::vector<Identity>& global);

// The newest snapshot with the label, of what all heads have. `label`: as the ranks of this node have asked for it; a
// head without ranks passes none. Code::version_unavailable: no snapshot has it; the text lists the labels that there
// are. Code::mismatch: ranks have asked for different ones. The same on all heads. Collective.
[[nodiscard]] Result<Version> find_labeled(Comm& heads, const std::string& label,
                                           const std::vector<LabeledSnapshot>& here);

}  // namespace cairn
