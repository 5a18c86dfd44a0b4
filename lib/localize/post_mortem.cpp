#include "localize/post_mortem.hpp"

#include <algorithm>

#include "localize/analysis.hpp"

namespace cairn::localize {
namespace {

Analysis examine(const Group& group, const PostMortem& how, Time now) {
  Analysis analysis(how.rules, group, now);
  while (const auto probe = analysis.next_probe()) analysis.learn(*probe, how.probe(*probe, analysis.suspect()));
  return analysis;
}

}  // namespace

std::vector<Verdict> analyse(const std::vector<Observation>& symptoms, const PostMortem& how) {
  const Time now = how.window;  // so that no time is negative
  Evidence evidence(how.window);
  for (const Observation& aged : symptoms) {
    if (aged.last >= how.window) continue;
    Observation seen = aged;
    seen.first = std::max(Time{}, now - aged.first);
    seen.last = now - aged.last;
    evidence.add(seen);
  }
  std::vector<Verdict> verdicts;
  for (const NodeId node : evidence.suspects()) {
    for (const Group& group : evidence.groups(node)) {
      if (evidence.weight(group, *how.rules) < how.threshold) continue;
      const Analysis analysis = examine(group, how, now);
      if (analysis.outcome() == Analysis::Outcome::excused) continue;
      Verdict verdict = analysis.verdict(node, now);
      const auto is_it = [&](const Verdict& one) { return same_fault(one, verdict); };
      if (std::ranges::none_of(verdicts, is_it)) verdicts.push_back(std::move(verdict));
    }
  }
  return verdicts;
}

}  // namespace cairn::localize
