#include "support/survival.hpp"

#include <algorithm>

namespace cairn::test {
namespace {

class Judge {
 public:
  Judge(const Layout& layout, LevelSet levels, std::uint64_t turn, const Losses& lost)
      : layout_(layout), levels_(levels), turn_(turn), lost_(lost) {}

  [[nodiscard]] bool rescues(NodeId owner) const {
    return levels_.has(LevelId::global) || has_volume(owner) || decodes(owner);
  }

 private:
  [[nodiscard]] bool alive(NodeId node) const { return !lost_.contains(node.value); }

  // Somewhere all shards of the node lie as they are.
  [[nodiscard]] bool has_volume(NodeId owner) const {
    if (alive(owner)) return true;
    if (!levels_.has(LevelId::partner)) return false;
    return std::ranges::any_of(partners_of(layout_, owner, turn_), [&](NodeId partner) { return alive(partner); });
  }

  // Column c has parity on members c … c+m−1 of those that are not spared, and a chunk from each of the others; any n−m
  // of its n parts give all, and the owner needs every column in which it has a chunk.
  [[nodiscard]] bool decodes(NodeId owner) const {
    if (!levels_.has(LevelId::erasure)) return false;
    const auto group = std::ranges::find_if(
        layout_.groups, [&](const auto& members) { return std::ranges::find(members, owner) != members.end(); });
    if (group == layout_.groups.end()) return false;
    const std::size_t n = group->size();
    const std::size_t spared = layout_.shape_of(static_cast<std::uint32_t>(group - layout_.groups.begin())).spared;
    const std::size_t h = n - spared;
    for (std::size_t column = 0; column < h; ++column) {
      std::size_t parts = 0;
      bool needed = true;
      for (std::size_t i = 0; i < n; ++i) {
        const bool is_parity = i < h && (i + h - column) % h < layout_.parity;
        if (is_parity && (*group)[i] == owner) needed = false;
        parts += (is_parity ? alive((*group)[i]) : has_volume((*group)[i])) ? 1 : 0;
      }
      if (needed && parts < n - layout_.parity) return false;
    }
    return true;
  }

  const Layout& layout_;
  LevelSet levels_;
  std::uint64_t turn_;
  const Losses& lost_;
};

}  // namespace

Losses losses_of(std::uint32_t bits) {
  Losses lost;
  for (std::uint32_t node = 0; node < 32; ++node) {
    if ((bits >> node & 1U) != 0) lost.insert(node);
  }
  return lost;
}

std::vector<std::uint32_t> ranks_beyond_rescue(const Layout& layout, LevelSet levels, std::uint64_t turn,
                                               const Losses& lost) {
  const Judge judge(layout, levels, turn, lost);
  std::vector<std::uint32_t> gone;
  for (std::uint32_t rank = 0; rank < layout.node_of_rank.size(); ++rank) {
    if (!judge.rescues(layout.node_of_rank[rank])) gone.push_back(rank);
  }
  return gone;
}

}  // namespace cairn::test
