// A restore in which ranks exchange regions: of a snapshot of another number of ranks, or of other parts of arrays.
// Each rank reads the shards that its head has brought, and gets the elements of its regions from the others
// (reshape/plan). Collective among the ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/messages.hpp"
#include "session/session_state.hpp"

namespace cairn {

// This rank's answer to the offer; nothing: each rank restores from its own shard. `calls` gets those of snapshot()
// that the job has made at that safe point.
[[nodiscard]] std::optional<RestoreResult> exchange_offered(SessionState& session, const Offer& offer,
                                                            const std::string& only, std::uint64_t& calls);
// An answer of stored(); nothing: all is well. Of another number of ranks, `found` gets what this rank was offered.
[[nodiscard]] std::optional<RestoreResult> look_for_exchange(SessionState& session, const Offer& offer,
                                                             StoredRegions& found);

}  // namespace cairn
