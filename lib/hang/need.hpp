// What a call waits for, and why that has not come. Facts only; hang/words makes sentences of them. Pure data.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hang/gap.hpp"
#include "hang/rank_calls.hpp"

namespace cairn::hang {

// How far a statement follows from the records, the surest first.
enum class Certainty {
  certain,
  likely,   // unless a rank that may continue by itself does, or MPI makes progress without it
  unknown,  // the records leave open whether it is so
};

// Said of the ranks that a call waits for.
enum class Reason {
  // Of a collective, MPI_Finalize or a call of Cairn. `call`: as those who wait have entered it.
  collective_not_begun,
  collective_maybe_not_begun,
  collective_halted,          // they are in it, and stopped or dead
  collective_not_progressed,  // they began it with a request, and are in no MPI call that would continue it
  collective_mismatch,        // they entered it as `theirs`: they never meet those who wait
  // Of a call of Cairn that all ranks have begun.
  head_halted,   // heads are stopped or dead
  head_works,    // heads do the work of the call
  head_outside,  // they act as heads only in calls of Cairn, and are outside
  // Of the message that the receive or probe `call` waits for.
  message_not_sent,
  message_not_sent_again,          // they sent earlier ones of the same kind
  message_sent_otherwise,          // they are sending `theirs` instead: with another tag, or on another communicator
  message_sent_earlier_otherwise,  // `theirs` is the last message that they sent: with another tag
  message_taken_by_wildcard,       // they sent it, and a receive from any source may have taken it
  message_not_progressed,          // they began it with `theirs`, and have not continued it
  message_maybe_not_sent,
  message_expected,  // nothing is known of them
  message_from_any,  // each of them may send it
  // Of the message that the send `call` waits for.
  receive_not_posted,
  receive_posted_otherwise,  // they receive `theirs` instead
  receive_maybe_not_posted,
  receive_expected,
};

// What a call waits for: all of these ranks, or any of them. Several ranks may share one, since in a collective that
// thousands have entered each waits for the same others.
struct Need {
  std::vector<std::uint32_t> ranks;  // and, from the number of ranks on, heads: places in HangReport::heads
  Reason reason{};
  Call call;                        // that waits; of a shared one, without what differs: times and bytes
  std::optional<Call> theirs = {};  // see Reason
  std::uint64_t agreeing = 0;       // of a mismatch: how many ranks entered as `call`
  bool any = false;
  Certainty certainty = Certainty::certain;  // that it is not met
  std::optional<Gap> gap = {};               // because of which that is not known

  // Whatever those ranks do.
  [[nodiscard]] bool is_never_met() const { return reason == Reason::collective_mismatch; }
};

}  // namespace cairn::hang
