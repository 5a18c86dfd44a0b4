// What calls of a carrier wait for that cannot end without another rank.
#include "mpi/message_carrier.hpp"

namespace cairn {

using Needs = replay::DeadlockCheck::Needs;

std::optional<Needs> MessageCarrier::needs_of(const Completion& call, std::span<const MPI_Request> requests) {
  if (job_.has_other_threads()) return {};
  receives_.settle_what_is_over();
  Needs needs;
  for (const MPI_Request request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    const PendingMessage* const pending = requests_.find(request);
    if (pending == nullptr) return {};
    if (!pending->is_active) continue;
    if (pending->done && !call.is_for_all()) return {};
    if (pending->done) continue;
    if (!pending->is_logged || (pending->sends && !pending->need)) return {};
    needs.push_back(pending->sends ? *pending->need
                                   : counts_.message(*pending->channel, pending->in.peer, pending->in.tag));
  }
  if (needs.empty()) return {};
  return needs;
}

}  // namespace cairn
