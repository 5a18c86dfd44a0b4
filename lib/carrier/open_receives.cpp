#include "carrier/open_receives.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "replay/number.hpp"

namespace cairn {
namespace {

bool accepts(int expected, int actual, int any) { return expected == actual || expected == any; }

}  // namespace

void OpenReceives::add(PendingMessage& receive) {
  check(receive.is_open && !receive.sends);
  check(by_order_.emplace(receive.order, &receive).second);
}

void OpenReceives::remove(PendingMessage& receive) {
  check(by_order_.erase(receive.order) == 1);
  receive.is_open = false;
}

std::vector<PendingMessage*> OpenReceives::take_all() {
  std::vector<PendingMessage*> all;
  for (const auto& [order, receive] : by_order_) {
    receive->is_open = false;
    all.push_back(receive);
  }
  by_order_.clear();
  return all;
}

bool OpenReceives::is_behind(const Channel& channel, int peer, int tag, std::uint64_t order) const {
  if (tag == replay::kCollectiveTag) return false;
  for (const auto& [earlier, open] : by_order_) {
    if (earlier >= order) break;
    if (open->channel == &channel && accepts(open->in.peer, peer, MPI_ANY_SOURCE) &&
        accepts(open->in.tag, tag, MPI_ANY_TAG))
      return true;
  }
  return false;
}

bool OpenReceives::has_of(MPI_Comm handle) const {
  return std::ranges::any_of(by_order_, [&](const auto& one) { return one.second->channel->handle == handle; });
}

}  // namespace cairn
