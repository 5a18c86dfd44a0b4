#include "recover/sent_files.hpp"

#include <algorithm>
#include <optional>

#include "format/shard.hpp"
#include "level/file_transfer.hpp"

namespace cairn {
namespace {

// Whether a file that was refused is whole in this node's store; none: that cannot be found out.
std::optional<bool> is_whole_here(const NodeContext& node, const NodeManifest& manifest, const Delivery& delivery) {
  const auto expected = entry_of(manifest, delivery);
  if (!expected) return std::nullopt;
  const auto shard = Shard::open(*node.local, *delivery.file(node.dir(manifest.identity)));
  const Status status = shard ? verify_shard(*shard, *expected, *node.workers, node.between) : fail(shard.error());
  if (!status && status.error().code != Code::corrupt) return std::nullopt;
  return status.has_value();
}

}  // namespace

std::vector<Delivery> sent_files(const NodeContext& node, const RetrieveState& state, const Plan& plan) {
  std::vector<Delivery> sent;
  for (const Delivery& delivery : plan.deliveries) {
    const auto holder = delivery.holder();
    const bool mine = holder && holder->value == node.me.value;
    if (mine && delivery.to != *holder && !state.arrived.contains(delivery.rank)) sent.push_back(delivery);
  }
  return sent;
}

void report_sent(const NodeContext& node, const RetrieveState& state, const NodeManifest* manifest,
                 const SentFiles& sent) {
  for (const Delivery& delivery : sent.deliveries) {
    const NodeId to{delivery.to.value};
    if (state.arrived.contains(delivery.rank)) {
      node.symptoms->note_sent(to, SymptomPort::Sent::whole);
      continue;
    }
    const Strike strike{StoreId::node(node.me.value), delivery.file(node.dir(state.snapshot))->path};
    const bool by_others = state.inventory.strikes.contains(strike) && !sent.struck_before.contains(strike) &&
                           std::ranges::find(sent.own, strike) == sent.own.end();
    if (!by_others || manifest == nullptr) continue;
    if (const auto whole = is_whole_here(node, *manifest, delivery))
      node.symptoms->note_sent(to, *whole ? SymptomPort::Sent::refused : SymptomPort::Sent::damaged);
  }
}

}  // namespace cairn
