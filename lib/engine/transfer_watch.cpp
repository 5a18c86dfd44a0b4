#include "engine/transfer_watch.hpp"

#include <algorithm>
#include <utility>

#include "base/bytes.hpp"
#include "localize/detect.hpp"

namespace cairn {
namespace {

// Of less, the time is that of the messages and not of the bytes.
constexpr std::uint64_t kFewestBytes = 4 * kMiB;
constexpr std::size_t kExchangesKept = 5;

}  // namespace

void TransferWatch::note(std::span<const SymptomPort::Transfer> transfers) {
  double best = 0;
  for (const auto& transfer : transfers) {
    if (transfer.bytes < kFewestBytes || !(transfer.seconds > 0)) continue;
    best = std::max(best, static_cast<double>(transfer.bytes) / transfer.seconds);
  }
  if (!(best > 0)) return;
  own_ = {own_.exchanges + 1, best};
  last_.push_back(best);
  if (last_.size() > kExchangesKept) last_.pop_front();
  note(self_, own_);
}

void TransferWatch::note(NodeId node, const TransferRate& rate) {
  Known& known = known_[node];
  if (!(rate.best > 0) || rate == known.rate) return;
  known = {rate, true};
}

double TransferWatch::bandwidth() const { return localize::median_of({last_.begin(), last_.end()}); }

std::vector<TransferWatch::Slow> TransferWatch::look() {
  std::vector<NodeId> nodes;
  std::vector<double> rates;
  for (const auto& [node, known] : known_) {
    if (!(known.rate.best > 0)) continue;
    nodes.push_back(node);
    rates.push_back(known.rate.best);
  }
  std::vector<Slow> slow;
  for (const auto& outlier : localize::far_below(rates, {})) {
    const NodeId node = nodes[outlier.place];
    if (std::exchange(known_[node].fresh, false)) slow.push_back({node, outlier.share});
  }
  return slow;
}

}  // namespace cairn
