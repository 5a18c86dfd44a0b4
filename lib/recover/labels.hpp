// Which snapshots have a label, and which one somebody means by it.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/log.hpp"
#include "comm/comm.hpp"
#include "format/manifest.hpp"
#include "level/level.hpp"
#include "recover/unreadable.hpp"

namespace cairn {

struct LabeledSnapshot {
  Identity snapshot;
  std::string label;  // empty: it has none
  friend bool operator==(const LabeledSnapshot&, const LabeledSnapshot&) = default;
};

// A snapshot that is there, but whose label this head cannot read.
struct UnreadLabel {
  Version version;
  RunId run;
  std::string why;
};

struct KnownLabels {
  std::vector<LabeledSnapshot> snapshots;
  std::vector<UnreadLabel> unread;
};

// Of this node's store and, on head 0, of the snapshots `global` in the global one. `unreadable`: what was found in
// these stores and could not be read. Local.
[[nodiscard]] KnownLabels labels_here(const NodeContext& node, const std::vector<NodeManifest>& manifests,
                                      const std::vector<Identity>& global, const std::vector<Unreadable>& unreadable);

// The newest snapshot with the label, of what all heads have. `label`: as the ranks of this node have asked for it; a
// head without ranks passes none. Newer ones whose label no head can read are logged by head 0: they may be what is
// meant. Code::version_unavailable: no snapshot has it; the text lists the labels that there are, and the snapshots
// whose label cannot be read. Code::mismatch: ranks have asked for different ones. The same on all heads. Collective.
[[nodiscard]] Result<Version> find_labeled(Comm& heads, const std::string& label, const KnownLabels& here,
                                           const Log& log);

}  // namespace cairn
