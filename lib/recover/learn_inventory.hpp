// How heads come to know the inventory: by the roll call alone where the failure topology says which stores are gone
// and the others hold the same; by trying level after level where it may not be asked; and by gathering what each holds
// where neither is enough. All ways end with the same inventory, so the plan is the same; they differ in what they
// cost.
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
  const std::optional<RollCall>& roll;  // none: what it said is out of date
  const FailureTopology& failures;
  const Chain& chain;
  Incarnation not_before;       // of the newest fresh start
  bool level_by_level = false;  // [restart] use_failure_topology = off
};

// The same on all heads. Collective.
[[nodiscard]] Result<Inventory> learn_inventory(Comm& heads, const InventoryRequest& request);

}  // namespace cairn
