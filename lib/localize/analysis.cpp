#include "localize/analysis.hpp"

#include <algorithm>
#include <utility>

namespace cairn::localize {
namespace {

// The other end of a path on which data changes: the node that got it.
std::vector<NodeId> receivers_of_wrong_data(const Group& group) {
  std::vector<NodeId> receivers;
  for (const Observation& observation : group) {
    if (observation.kind == SymptomKind::crc_mismatch) receivers.push_back(observation.reporter);
  }
  return receivers;
}

}  // namespace

Analysis::Analysis(std::shared_ptr<const RuleSet> rules, Group group, Time threshold_at)
    : rules_(std::move(rules)),
      group_(std::move(group)),
      suspect_(suspect_of(group_)),
      threshold_at_(threshold_at),
      facts_(group_),
      conclusions_(reason(*rules_, facts_)) {}

std::optional<Probe> Analysis::next_probe() const {
  if (conclusions_.candidates.empty() || !conclusions_.confirmed.empty()) return std::nullopt;
  for (const Probe probe : useful_probes(*rules_, facts_, conclusions_.candidates)) {
    if (!made_.contains(probe)) return probe;
  }
  return std::nullopt;
}

void Analysis::learn(Probe probe, const std::vector<std::pair<ProbeFact, double>>& found) {
  made_.insert(probe);
  // It answered at first, and does not any more.
  if (found.empty() && probe > Probe::witness && !std::exchange(fell_silent_, true)) {
    made_.erase(Probe::response);
    made_.erase(probe);
    facts_.forget(Probe::response);
  }
  for (const auto& [fact, value] : found) facts_.set(fact, value);
  conclusions_ = reason(*rules_, facts_);
}

Symptoms Analysis::excused() const {
  Symptoms excused;
  for (const std::size_t i : conclusions_.fired) {
    if (rules_->rules[i].then == Then::excuse) excused |= asked_by(*rules_, rules_->rules[i]);
  }
  return excused;
}

Analysis::Outcome Analysis::outcome() const {
  if (!conclusions_.confirmed.empty()) return Outcome::confirmed;
  if (next_probe()) return Outcome::open;
  return conclusions_.excused ? Outcome::excused : Outcome::undetermined;
}

Verdict Analysis::verdict(NodeId analyst, Time now) const {
  Verdict verdict;
  if (!conclusions_.confirmed.empty()) verdict.fault = conclusions_.confirmed.front();
  verdict.suspect = suspect_;
  if (verdict.fault != Fault::undetermined && !is_of_rank(verdict.fault)) verdict.suspect.rank.reset();
  if (verdict.fault == Fault::partition) verdict.nodes = {suspect_.node};
  if (verdict.fault == Fault::path_corrupts) verdict.nodes = receivers_of_wrong_data(group_);
  if (verdict.fault == Fault::rank_stuck || verdict.fault == Fault::deadlock) verdict.blocker = blocker_;
  verdict.analyst = analyst;
  verdict.threshold_at = threshold_at_;
  verdict.decided_at = now;
  verdict.evidence = group_;
  verdict.findings = facts_.findings();
  return verdict;
}

bool same_fault(const Verdict& a, const Verdict& b) {
  if (a.fault != b.fault) return false;
  if (a.fault == Fault::partition || a.suspect == b.suspect) return true;
  if (a.fault != Fault::path_corrupts) return a.fault == Fault::undetermined && a.suspect.node == b.suspect.node;
  const auto ends = [](const Verdict& verdict) {
    auto nodes = verdict.nodes;
    nodes.push_back(verdict.suspect.node);
    std::ranges::sort(nodes);
    return nodes;
  };
  return ends(a) == ends(b);
}

}  // namespace cairn::localize
