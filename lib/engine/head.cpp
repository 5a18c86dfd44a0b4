#include "engine/head.hpp"

#include <algorithm>

namespace cairn {

std::optional<Rank> Head::own_rank() const {
  const auto is_mine = [this](Rank rank) { return topology.world_of_rank[rank.value] == control.rank(); };
  const auto mine = std::ranges::find_if(ranks, is_mine);
  return mine == ranks.end() ? std::nullopt : std::optional(*mine);
}

bool Head::is_dropped() const {
  const auto mine = own_rank();
  return mine && requests.has_left(*mine);
}

void Head::tell(Rank rank, const ToRank& message) {
  // A rank that is gone is noticed where it matters: by the next message that is waited for.
  (void)control.send(topology.world_of_rank[rank.value], kToRank, encode(message));
}

void Head::send_to_other_heads(const ToHead& message) {
  const Buffer bytes = encode(message);
  for (const Node& other : topology.nodes) {
    const NodeId node = topology.node_of_world[other.head.value];
    if (node != this->node.me) (void)mail.isend(node, kToHead, bytes);
  }
}

void Head::tell_all(const ToRank& message) {
  for (const Rank rank : ranks) tell(rank, message);
  if (bell) bell->ring(Bell::Who::ranks);
}

void Head::heed(const RankLeft& its_leave) {
  if (!left || its_leave.calls < left->calls) left = its_leave;
  tell_all(its_leave);
}

void Head::log_storage_error(bool here, LevelId level, const Error& error) {
  if (!here || !options.log_storage_errors || !fails_for_storage(error.code)) return;
  if (trouble.note_failure(level, error.code)) node.log.error("{}", error.text());
}

void Head::log_storage_recovery(LevelId level, Version version) {
  const std::uint64_t repeated = trouble.note_success(level);
  if (repeated == 0) return;
  node.log.info(
      "version {} has reached L{} again; {} snapshots before it had the same error as the one that was logged",
      version.value, static_cast<int>(level), repeated);
}

}  // namespace cairn
