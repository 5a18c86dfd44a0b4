// Whether a message that one rank waits for fits what the other one does, and why not. Pure.
#pragma once

#include <optional>

#include "hang/need.hpp"

namespace cairn::hang {

// Whether the receive of rank `receiver` and the send of rank `sender` are of one message.
[[nodiscard]] bool fits(const Call& receive, Rank receiver, const Call& send, Rank sender);
// Whether `calls` is in a call, not complete for sure, that is the other side of `call` of rank `of`.
[[nodiscard]] bool is_answered(const RankCalls& calls, const Call& call, Rank of);

// Whether this call of `of`, one that lasts, a request that it waits for, or one that it tests for without success, is
// not complete for sure. One of several requests that a call waits for may be complete already.
[[nodiscard]] bool is_under_way_for_sure(const RankCalls& of, const Call& call);

// Whether the other side of `call` of rank `of` is over, by the counts of messages; with `moves`, also if it is begun.
// A probe that lasts has found no message. Receives from any source, or with any tag, may have taken messages: where
// that makes a difference it is not known, unless the call is under way for sure.
struct OtherSide {
  bool over = false;
  std::optional<Gap> gap = {};  // none: it is known whether it is over
};
[[nodiscard]] OtherSide other_side(const RankCalls& calls, const Call& call, const RankCalls& of, bool moves);

// Of the rank that a receive, or a send, waits for: why its side is missing.
struct Why {
  Reason reason{};
  std::optional<Call> theirs;
};
[[nodiscard]] Why why_not_sent(const RankCalls& sender, const Call& receive, const RankCalls& receiver);
[[nodiscard]] Why why_not_received(const RankCalls& receiver, const Call& send, Rank sender);

}  // namespace cairn::hang
