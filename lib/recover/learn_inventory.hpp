// How heads get the inventory. By the roll call alone, if the failure topology names the lost stores and the others
// hold the same. By trying level after level, if the failure topology must not be used. By gathering the contents of
// each store, if neither is enough. All ways give the same inventory and so the same plan; they differ in cost.
#pragma once

#include <optional>

#include <cairn/failure_topology.hpp>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "level/level.hpp"
#include "recover/chain.hpp"
#include "recover/inventory.hpp"
#include "recover/roll_call.hpp"

namespace cairn {

struct InventoryRequest {
  const NodeContext& node;
  const StoreContents& contents;
  const std::optional<RollCall>& roll;  // none: its answer is out of date
  const FailureTopology& failures;
  const Chain& chain;
  Incarnation not_before;       // of the newest fresh start
  bool level_by_level = false;  // [restart] use_failure_topology = off
};

// The same on all heads. Collective.
[[nodiscard]] Result<Inventory> learn_inventory(Comm& heads, const InventoryRequest& request);

}  // namespace cairn
