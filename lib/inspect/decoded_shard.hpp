// A shard that no store has as a file, computed from the data and parity of its group while it is read: L3, by a
// program that takes no part in the job. Local; changes no store.
#pragma once

#include <memory>

#include "base/error.hpp"
#include "inspect/survey.hpp"
#include "level/delivery.hpp"
#include "store/store.hpp"

namespace cairn {

// Requires: the delivery is a decode, from a plan for this survey. Neither its inputs nor its bytes are checked: Shard
// checks these. One thread; refers to `stores`.
[[nodiscard]] Result<std::shared_ptr<const Reader>> open_decoded_shard(const JobStores& stores, const Survey& survey,
                                                                       const Identity& snapshot,
                                                                       const Delivery& delivery);

}  // namespace cairn
