#include "recover/branch.hpp"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

// Versions grow, but a store that is back may have numbers that were used again since.
bool was_taken_after(const Identity& snapshot, const Branch::Fork& fork) {
  return std::pair(snapshot.incarnation, snapshot.version) > std::pair(fork.life, fork.choice.after);
}

}  // namespace

void Branch::take(const Fork& fork) {
  std::erase_if(forks_, [&](const Fork& earlier) { return !was_taken_after(fork.choice.snapshot, earlier); });
  forks_.push_back(fork);
  rejected_.erase(fork.choice.snapshot);
}

bool Branch::is_on(const Identity& snapshot) const {
  const auto newest = std::find_if(forks_.rbegin(), forks_.rend(), [&](const Fork& fork) {
    return was_taken_after(snapshot, fork) || snapshot > fork.choice.snapshot;
  });
  return newest == forks_.rend() || was_taken_after(snapshot, *newest);
}

}  // namespace cairn
