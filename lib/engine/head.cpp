#include "engine/head.hpp"

#include <algorithm>

namespace cairn {

bool Head::is_dropped() const {
  return std::ranges::any_of(requests.finalize, [this](const auto& request) {
    return request.second.abandoned && topology.world_of_rank[request.first.value] == control.rank();
  });
}

void Head::tell(Rank rank, const ToRank& message) {
  // A rank that is gone is noticed where it matters: by the next message that is waited for.
  (void)control.send(topology.world_of_rank[rank.value], kToRank, encode(message));
}

void Head::tell_all(const ToRank& message) {
  for (const Rank rank : ranks) tell(rank, message);
  if (bell) bell->ring(Bell::Who::ranks);
}

void Head::log_storage_error(bool here, const Error& error) const {
  if (here && options.log_storage_errors && fails_for_storage(error.code)) node.log.error("{}", error.text());
}

}  // namespace cairn
