#include "localize/action.hpp"

#include <algorithm>

namespace cairn::localize {

namespace {

bool is_reported_from_outside(const Verdict& verdict) {
  return std::ranges::any_of(verdict.evidence,
                             [](const Observation& seen) { return seen.kind == SymptomKind::suspected; });
}

// What a node shows whose processors are merely busy: it is slow, and nothing that it holds is in danger.
bool is_of_load(SymptomKind kind) {
  return kind == SymptomKind::processor_stolen || kind == SymptomKind::low_bandwidth ||
         kind == SymptomKind::waited_for || kind == SymptomKind::slow_rank;
}

bool is_merely_slow(const Verdict& verdict) {
  return !verdict.evidence.empty() &&
         std::ranges::all_of(verdict.evidence, [](const Observation& seen) { return is_of_load(seen.kind); });
}

}  // namespace

bool calls_for_snapshot(const Verdict& verdict) {
  switch (verdict.fault) {
    case Fault::node_swapping:
    case Fault::store_failing:
    case Fault::store_corrupts:
    case Fault::link_degraded:
    case Fault::path_corrupts: return true;
    // Somebody outside may know of a node what Cairn cannot see. Who suspects a rank suspects its data.
    case Fault::undetermined: return !verdict.suspect.rank && !is_merely_slow(verdict);
    // No snapshot can be completed.
    case Fault::process_dead:
    case Fault::process_stopped:
    case Fault::rank_stuck:
    case Fault::deadlock:
    case Fault::node_down:
    case Fault::partition:
    case Fault::store_full:
    // A snapshot would be one more burden, or nothing is in danger: a slow node is not lost.
    case Fault::node_stolen:
    case Fault::head_overloaded:
    case Fault::rank_slow: break;
  }
  return false;
}

bool calls_for_avoiding(const Verdict& verdict) {
  switch (verdict.fault) {
    case Fault::node_down:
    case Fault::node_swapping:
    case Fault::store_failing:
    case Fault::store_full:
    case Fault::store_corrupts:
    case Fault::link_degraded:
    case Fault::path_corrupts: return true;
    case Fault::undetermined: return !verdict.suspect.rank && is_reported_from_outside(verdict);
    // Of a process, or of the network between nodes; or it soon passes, and what the node holds is not in danger.
    case Fault::process_dead:
    case Fault::process_stopped:
    case Fault::rank_stuck:
    case Fault::deadlock:
    case Fault::rank_slow:
    case Fault::node_stolen:
    case Fault::partition:
    case Fault::head_overloaded: break;
  }
  return false;
}

bool endangers_node(const Verdict& verdict) {
  const bool of_node = verdict.fault == Fault::undetermined && !verdict.suspect.rank;
  return of_node || (calls_for_avoiding(verdict) && verdict.fault != Fault::path_corrupts);
}

bool may_end_job(const Verdict& verdict) {
  switch (verdict.fault) {
    case Fault::process_dead:
    case Fault::process_stopped:
    case Fault::rank_stuck:
    case Fault::deadlock: return true;
    case Fault::node_down:
    case Fault::partition:
    case Fault::node_stolen:
    case Fault::node_swapping:
    case Fault::store_failing:
    case Fault::store_full:
    case Fault::store_corrupts:
    case Fault::link_degraded:
    case Fault::path_corrupts:
    case Fault::head_overloaded:
    case Fault::rank_slow:
    case Fault::undetermined: break;
  }
  return false;
}

bool calls_for_replacing(const Verdict& verdict) {
  return calls_for_avoiding(verdict) && verdict.fault != Fault::undetermined;
}

void SnapshotCalls::take(const Verdict& verdict) {
  const auto known = [&](const Danger& one) { return same_fault(one.verdict, verdict); };
  if (verdict.withdrawn) {
    std::erase_if(dangers_, known);
  } else if (calls_for_snapshot(verdict) && std::ranges::none_of(dangers_, known)) {
    dangers_.push_back({verdict});
  }
}

std::optional<std::vector<NodeId>> SnapshotCalls::due(Time now) {
  if (last_ && now < *last_ + kLeastInterval) return {};
  if (std::ranges::all_of(dangers_, &Danger::answered)) return {};
  last_ = now;
  std::vector<NodeId> nodes;
  for (Danger& one : dangers_) {
    one.answered = true;
    nodes.push_back(one.verdict.suspect.node);
  }
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace cairn::localize
