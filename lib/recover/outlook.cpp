#include "recover/outlook.hpp"

namespace cairn {
namespace {

struct Standing {
  LevelSet levels;  // where all nodes have it
  Layout layout;
  std::uint64_t turn = 0;
};

// What an earlier life has placed by another layout names other nodes, and does not count.
Standing standing_of(const NodeContext& node, const Known& known) {
  const auto& holdings = known.manifest.holdings;
  if (known.manifest.identity.incarnation == node.incarnation && !holdings.empty())
    return {known.complete, holdings.front().layout, node.levels.turn_of(holdings.front()).value_or(0)};
  LevelSet levels = known.today;
  levels.add(known.complete & node.levels.in_shared_stores());
  levels.add(known.complete & LevelSet{node.levels.of_own_shards()});
  return {levels, node.layout, known.turn.value_or(0)};
}

}  // namespace

localize::Outlook outlook_without(const Catalog& catalog, const std::vector<NodeId>& lost) {
  for (auto newest = catalog.known.rbegin(); newest != catalog.known.rend(); ++newest) {
    const auto& [id, known] = *newest;
    const Standing standing = standing_of(catalog.node, known);
    const LevelSet surviving = catalog.node.levels.that_survive(standing.layout, lost, standing.turn);
    const LevelSet levels = (standing.levels - known.struck) & surviving;
    if (levels.empty()) continue;
    return {localize::Restorable{id.version, *levels.begin(), known.sealed}};
  }
  return {};
}

}  // namespace cairn
