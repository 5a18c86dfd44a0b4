// What has become of the files that a node has sent to others for a restore, for fault localization. A file that was
// refused is read again where it comes from: that tells whether the store damaged it, or the path. Local.
#pragma once

#include <set>
#include <vector>

#include "recover/retrieve.hpp"

namespace cairn {

// Deliveries of the plan that this node is about to send to others.
[[nodiscard]] std::vector<Delivery> sent_files(const NodeContext& node, const RetrieveState& state, const Plan& plan);

struct SentFiles {
  const std::vector<Delivery>& deliveries;
  const std::vector<Strike>& own;         // strikes of this node: it knows what is wrong with these files
  const std::set<Strike>& struck_before;  // strikes of all nodes before these deliveries
};
// Tells node.symptoms, once all heads know what has arrived, and what was struck. `manifest`: of the snapshot, in this
// node's store; null: files are not read again.
// Requires: node.symptoms is not null.
void report_sent(const NodeContext& node, const RetrieveState& state, const NodeManifest* manifest,
                 const SentFiles& sent);

}  // namespace cairn
