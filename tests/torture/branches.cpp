#include "torture/branches.hpp"

#include <algorithm>
#include <utility>

namespace cairn::torture {

void Branches::chooses(const Choice& choice, std::uint64_t stamp, std::uint64_t newest) {
  under_way_ = Fork{choice, stamp, newest};
  std::erase_if(pinned_, [&](const auto& pin) { return pin.second > stamp; });
}

void Branches::has_chosen(std::uint64_t stamp) {
  if (!under_way_) return;
  Fork fork = *std::exchange(under_way_, std::nullopt);
  fork.chosen = stamp;
  bring_back(stamp);
  forks_.push_back(fork);
  if (fork.choice.at_start) last_ = {fork.choice.version};
}

// What the chosen one was taken after, on its own branch, is on it again. 0: anything may be.
void Branches::bring_back(std::uint64_t chosen) {
  if (chosen == 0) rejected_.clear();
  std::erase_if(forks_, [&](const Fork& earlier) { return chosen <= earlier.newest; });
  rejected_.erase(chosen);
}

void Branches::has_not_chosen() { under_way_.reset(); }

// A choice that was under way at the end of the one before may have come to its end.
void Branches::begin_life() {
  if (under_way_) {
    bring_back(under_way_->chosen);
    if (under_way_->choice.at_start) last_.insert({0, under_way_->choice.version});
  }
  under_way_.reset();
  doubtful_.clear();
}

void Branches::end() {
  std::set<std::uint32_t> last = std::move(last_);
  if (!last.empty()) last.insert(0);
  forget();
  last_ = std::move(last);
}

bool Branches::has_left(std::uint64_t stamp) const {
  return rejected_.contains(stamp) ||
         std::ranges::any_of(forks_, [&](const Fork& fork) { return leaves(fork, stamp); });
}

bool Branches::may_have_left(std::uint64_t stamp) const {
  return has_left(stamp) || doubtful_.contains(stamp) || (under_way_ && leaves(*under_way_, stamp));
}

}  // namespace cairn::torture
