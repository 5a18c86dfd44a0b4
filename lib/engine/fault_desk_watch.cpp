// What a FaultDesk sees on its own node.
#include <algorithm>
#include <chrono>

#include "engine/fault_desk.hpp"

namespace cairn {

void FaultDesk::look(Time now) {
  processes_.begin_look();
  for (const Rank rank : head_.ranks) look_at(rank, now);
  look_for_waits();
  look_at_store(now);
  renew_rules(now);
}

// The process of a rank that ends its session may end too. Its calls are looked at until then: it may wait for others.
void FaultDesk::look_at(Rank rank, Time now) {
  const Peer world = head_.topology.world_of_rank[rank.value];
  const auto& hosts = head_.topology.host_of_world;
  const auto number = head_.processes.find(rank);
  const bool here = hosts[world.value] == hosts[head_.control.rank().value];
  if (!here || number == head_.processes.end() || head_.requests.finalize.contains(rank)) {
    processes_.forget(rank);
  } else if (const auto wrong = processes_.look(rank, number->second, now)) {
    report({wrong->kind, {head_.node.me, rank}, {}, {}, wrong->measure});
  }
  if (head_.options.localize.stuck_after) calls_.look(rank, processes_.state(rank));
}

FaultDesk::Operations FaultDesk::operations() const {
  return {counts_->operations() + written_.all, counts_->failed() + written_.failed};
}

// A symptom for each failed operation, as far as they count.
void FaultDesk::look_at_store(Time now) {
  const Operations all = operations();
  const std::uint64_t failed = all.failed - seen_.failed;
  if (failed > 0) {
    if (!failing_since_) failing_since_ = now, before_failures_ = seen_;
    last_failure_ = now;
    const double share = static_cast<double>(failed) / static_cast<double>(all.all - seen_.all);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(failed, localize::kMostRepeats); ++i) {
      const Symptom symptom{SymptomKind::store_error,
                            {head_.node.me, std::nullopt},
                            head_.node.me,
                            now + Time(static_cast<std::int64_t>(i)),
                            share};
      localizer_.report(symptom);
    }
  }
  seen_ = all;
  if (failing_since_ && now - last_failure_ >= kStoreRecovers) failing_since_.reset();
}

// For whom a rank waits follows only from what all nodes know.
void FaultDesk::look_for_waits() {
  const auto& after = head_.options.localize.stuck_after;
  const auto now = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch());
  if (after && calls_.waits_since((now - *after).count())) localizer_.ask_for_calls();
}

localize::RankProcess FaultDesk::process(Rank rank) const { return processes_.probe(rank); }

localize::NodeState FaultDesk::state() const {
  localize::NodeState state;
  if (!failing_since_) return state;
  const Operations all = operations();
  state.store_operations = static_cast<double>(all.all - before_failures_.all);
  state.store_failed = static_cast<double>(all.failed - before_failures_.failed);
  state.store_errors = state.store_operations > 0 ? state.store_failed / state.store_operations : 0;
  state.store_since = std::chrono::duration<double>(head_.clock() - *failing_since_).count();
  return state;
}

}  // namespace cairn
