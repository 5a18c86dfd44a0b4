// Which snapshot the ranks get: heads offer one, until all ranks have read it.
#pragma once

#include <functional>

#include "engine/messages.hpp"
#include "session/session_state.hpp"

namespace cairn {

// A replacement gets what the survivors continue from. The first restore of a process is the same call in each life of
// the job, so it chooses once. A later one is meant.
[[nodiscard]] RestoreRequest request_for(const SessionState& session, const RestoreRequest& chosen);

enum class Restores { all, replacements };
// The heads offer a snapshot as often as a rank's `answer` is that its shard cannot be read. Returns the one that all
// have read. A close() is answered without an offer. Collective among the ranks.
[[nodiscard]] Result<Offer> settle_offer(SessionState& session,
                                         const std::function<RestoreResult(const Offer&)>& answer,
                                         const RestoreRequest& request, Restores who);

// If it was this rank's shard that could not be read, the heads find another source of it.
[[nodiscard]] RestoreResult refused(const SessionState& session, const Error& error);

// Whether ranks may exchange regions of it: a replacement restores alone.
[[nodiscard]] bool may_exchange(const SessionState& session, const Offer& offer);

// The restore has failed on all ranks. None of those that are here may end the job for it before the mark is written.
[[nodiscard]] Status undefined_after(SessionState& session, Error error, bool all_are_here);

}  // namespace cairn
