#include "recover/learn_inventory.hpp"

#include <vector>

#include "recover/level_rounds.hpp"

namespace cairn {
namespace {

// The stores that the failure topology names, by head.
std::vector<bool> named_lost(const FailureTopology& failures, std::uint32_t heads) {
  std::vector<bool> lost(heads);
  for (const std::uint32_t node : failures.lost_nodes) {
    if (node < heads) lost[node] = true;
  }
  return lost;
}

// The stores that hold nothing, if they can be known without an inventory.
Result<std::optional<std::vector<bool>>> find_empty(Comm& heads, const InventoryRequest& request) {
  const std::optional<RollCall>& roll = request.roll;
  if (!roll || !roll->common) return std::nullopt;
  if (request.level_by_level) {
    const auto span = request.node.trace.span("try levels");
    return try_levels(heads, request.node, request.contents, *roll->common, request.chain, request.not_before);
  }
  if (roll->as_expected) return named_lost(request.failures, heads.size());
  if (roll->common->empty()) return std::vector<bool>(heads.size(), true);
  return std::nullopt;
}

}  // namespace

Result<Inventory> learn_inventory(Comm& heads, const InventoryRequest& request) {
  const auto empty = find_empty(heads, request);
  if (!empty) return fail(empty.error());
  const StoreContents& contents = request.contents;
  const Layout& today = request.node.layout;
  auto inventory = *empty ? inventory_of_alike(heads, contents, today, *request.roll->common, **empty)
                          : gather_inventory(heads, contents, today);
  if (inventory) inventory->shared = request.chain.shared(request.node.levels);
  return inventory;
}

}  // namespace cairn
