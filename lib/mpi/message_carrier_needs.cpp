// What calls of a carrier wait for that cannot end without another rank, and the counts of messages that this is told
// by. Messages are counted from a repair until all ranks have compared theirs, if the session's thread exchanges them.
#include "mpi/message_carrier.hpp"

namespace cairn {

using Needs = replay::DeadlockCheck::Needs;

// Not what MPI takes from any rank: it then chooses the message.
bool MessageCarrier::is_counted(int peer, int tag) const {
  return is_patient() && std::this_thread::get_id() == thread_ && peer >= 0 &&
         (tag >= 0 || tag == replay::kCollectiveTag);
}

void MessageCarrier::count_sent(const Channel& channel, int peer, int tag) {
  if (is_counted(peer, tag)) setting_.deadlocks.traffic().sent(stream(channel, peer, tag));
}

void MessageCarrier::count_posted(const Channel& channel, int peer, int tag) {
  if (is_counted(peer, tag)) setting_.deadlocks.traffic().posted(stream(channel, peer, tag));
}

void MessageCarrier::count_received(const Channel& channel, int peer, int tag) {
  if (is_counted(peer, tag)) setting_.deadlocks.traffic().received(stream(channel, peer, tag));
}

// Of the message that was counted last.
replay::Need MessageCarrier::need_of_receiver(const Channel& channel, int peer, int tag) const {
  return setting_.deadlocks.traffic().receiver(stream(channel, peer, tag));
}

// Requires: the call waits for one message that no request of the application gets.
std::optional<Needs> MessageCarrier::needs_message(const Channel& channel, int peer, int tag) {
  if (has_other_threads_) return {};
  settle_what_is_over();
  return Needs{setting_.deadlocks.traffic().message(pattern(channel, peer, tag))};
}

std::optional<Needs> MessageCarrier::needs_of(tap::Which which, std::span<const MPI_Request> requests) {
  if (has_other_threads_) return {};
  settle_what_is_over();
  const bool waits_for_all = which == tap::Which::one || which == tap::Which::all;
  Needs needs;
  for (const MPI_Request request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    const Pending* const pending = find(request);
    if (pending == nullptr) return {};
    if (!pending->is_active) continue;
    if (pending->done && !waits_for_all) return {};
    if (pending->done) continue;
    if (!pending->is_logged || (pending->sends && !pending->need)) return {};
    needs.push_back(pending->sends ? *pending->need
                                   : setting_.deadlocks.traffic().message(
                                         pattern(*pending->channel, pending->in.peer, pending->in.tag)));
  }
  if (needs.empty()) return {};
  return needs;
}

// The counts are to have what MPI has ended, though the application has not asked for it.
void MessageCarrier::settle_what_is_over() {
  for (const auto& [request, pending] : pending_)
    if (!pending->done && pending->real != MPI_REQUEST_NULL) (void)test(*pending);
}

}  // namespace cairn
