#include "localize/verdicts.hpp"

#include <algorithm>
#include <utility>

namespace cairn::localize {
namespace {

// Nothing else can be found out about a node that nobody reaches.
bool explains_all(Fault fault) { return fault == Fault::node_down || fault == Fault::partition; }

bool add_nodes(std::vector<NodeId>& to, const std::vector<NodeId>& nodes) {
  const std::size_t before = to.size();
  for (const NodeId node : nodes) {
    if (std::ranges::find(to, node) == to.end()) to.push_back(node);
  }
  std::ranges::sort(to);
  return to.size() > before;
}

// What was found of the same fault later. Whether anything is different.
bool renew(Verdict& standing, const Verdict& now) {
  const bool same = standing.findings == now.findings && standing.blocker == now.blocker;
  standing.findings = now.findings;
  standing.blocker = now.blocker;
  return !same;
}

// Whether a fault may be all that an undetermined verdict on the same node is about. A fault of a rank does not answer
// what somebody suspects of its node.
bool may_answer(const Verdict& fault, const Verdict& undetermined) {
  const auto is_suspected = [](const Observation& seen) { return seen.kind == SymptomKind::suspected; };
  return fault.suspect.node == undetermined.suspect.node &&
         (!is_of_rank(fault.fault) || undetermined.suspect.rank.has_value() ||
          std::ranges::none_of(undetermined.evidence, is_suspected));
}

bool is_about(const Verdict& verdict, NodeId node) {
  if (verdict.fault != Fault::partition) return verdict.suspect.node == node;
  return std::ranges::find(verdict.nodes, node) != verdict.nodes.end();
}

}  // namespace

bool OwnVerdicts::explains(const Standing& standing, const Observation& observation) {
  const Verdict& verdict = standing.verdict;
  if (!is_about(verdict, observation.suspect.node)) return false;
  if (explains_all(verdict.fault)) return true;
  if (is_of_rank(verdict.fault) && verdict.suspect.rank != observation.suspect.rank) return false;
  return standing.explained.test(static_cast<std::size_t>(observation.kind));
}

bool OwnVerdicts::explains(const Observation& observation) const {
  return std::ranges::any_of(standing_, [&](const Standing& one) { return explains(one, observation); });
}

bool OwnVerdicts::note(const Observation& observation) {
  bool explained = false;
  for (Standing& standing : standing_) {
    if (!explains(standing, observation)) continue;
    standing.quiet = false;
    explained = true;
  }
  return explained;
}

Time OwnVerdicts::interval(const Verdict& verdict) const {
  return verdict.fault == Fault::undetermined ? settings_.recheck_undetermined : settings_.recheck;
}

std::vector<Verdict> OwnVerdicts::add(const Verdict& verdict, const RuleSet& rules, Time now) {
  std::vector<Verdict> news;
  const auto same =
      std::ranges::find_if(standing_, [&](const Standing& one) { return same_fault(one.verdict, verdict); });
  if (same != standing_.end()) {
    same->next_check = now + interval(verdict);
    same->quiet = true;
    const bool grown = verdict.fault == Fault::partition && add_nodes(same->verdict.nodes, verdict.nodes);
    const bool renewed = renew(same->verdict, verdict);
    if (grown || renewed) news.push_back(same->verdict);
    return news;
  }
  const auto answers = [&](const Standing& one) { return may_answer(one.verdict, verdict); };
  if (verdict.fault == Fault::undetermined && std::ranges::any_of(standing_, answers)) return news;
  std::erase_if(standing_, [&](Standing& one) {
    const bool replaced = one.verdict.fault == Fault::undetermined && may_answer(verdict, one.verdict);
    if (replaced) one.verdict.withdrawn = true, news.push_back(one.verdict);
    return replaced;
  });
  if (standing_.size() == kMostVerdicts) return news;
  Standing standing{verdict, explained_by(rules, verdict.fault), now + interval(verdict), true};
  if (verdict.fault == Fault::undetermined) {
    for (const Observation& observation : verdict.evidence)
      standing.explained.set(static_cast<std::size_t>(observation.kind));
  }
  standing_.push_back(std::move(standing));
  news.push_back(verdict);
  return news;
}

std::optional<Verdict> OwnVerdicts::due(Time now) {
  for (Standing& standing : standing_) {
    if (standing.next_check > now) continue;
    standing.next_check = now + interval(standing.verdict);
    return standing.verdict;
  }
  return std::nullopt;
}

void OwnVerdicts::doubt(NodeId node, Time now) {
  for (Standing& standing : standing_) {
    if (is_about(standing.verdict, node) && explains_all(standing.verdict.fault)) standing.next_check = now;
  }
}

std::optional<Verdict> OwnVerdicts::withdraw(const Verdict& verdict) {
  const auto found = std::ranges::find_if(standing_, [&](const Standing& one) {
    return same_fault(one.verdict, verdict) && one.verdict.suspect == verdict.suspect;
  });
  if (found == standing_.end()) return std::nullopt;
  Verdict withdrawn = std::move(found->verdict);
  standing_.erase(found);
  withdrawn.withdrawn = true;
  return withdrawn;
}

bool OwnVerdicts::quiet(const Verdict& verdict) const {
  return std::ranges::none_of(standing_,
                              [&](const Standing& one) { return same_fault(one.verdict, verdict) && !one.quiet; });
}

std::vector<Verdict> OwnVerdicts::all() const {
  std::vector<Verdict> all;
  for (const Standing& standing : standing_) all.push_back(standing.verdict);
  return all;
}

std::optional<Verdict> AllVerdicts::merge(const Verdict& verdict) {
  const auto found = std::ranges::find_if(claims_, [&](const Claim& one) { return same_fault(one.verdict, verdict); });
  if (verdict.withdrawn) {
    if (found == claims_.end() || found->analysts.erase(verdict.analyst) == 0 || !found->analysts.empty())
      return std::nullopt;
    Verdict withdrawn = std::move(found->verdict);
    claims_.erase(found);
    withdrawn.withdrawn = true;
    return withdrawn;
  }
  if (found == claims_.end()) {
    if (claims_.size() == kMostVerdicts) return std::nullopt;
    claims_.push_back({verdict, {verdict.analyst}});
    return verdict;
  }
  found->analysts.insert(verdict.analyst);
  if (verdict.analyst == found->verdict.analyst && renew(found->verdict, verdict)) found->renewed = true;
  if (verdict.fault == Fault::partition && add_nodes(found->verdict.nodes, verdict.nodes)) found->grown = true;
  return std::nullopt;
}

std::vector<Verdict> AllVerdicts::take_grown() {
  std::vector<Verdict> grown;
  for (Claim& claim : claims_)
    if (std::exchange(claim.grown, false)) grown.push_back(claim.verdict);
  return grown;
}

std::vector<Verdict> AllVerdicts::take_renewed() {
  std::vector<Verdict> renewed;
  for (Claim& claim : claims_)
    if (std::exchange(claim.renewed, false)) renewed.push_back(claim.verdict);
  return renewed;
}

std::vector<Verdict> AllVerdicts::standing() const {
  std::vector<Verdict> all;
  for (const Claim& claim : claims_) all.push_back(claim.verdict);
  return all;
}

}  // namespace cairn::localize
