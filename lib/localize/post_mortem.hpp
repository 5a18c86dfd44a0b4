// The analysis of symptoms that a job has left when it ended: by one process, when there is no head to be asked. Pure,
// apart from the probes.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "localize/evidence.hpp"
#include "localize/facts.hpp"
#include "localize/fault.hpp"
#include "localize/rules.hpp"

namespace cairn::localize {

struct PostMortem {
  std::shared_ptr<const RuleSet> rules;
  Time window{};         // as the heads of the job had it
  double threshold = 0;  // the same
  // What a probe finds out now; nothing: it cannot be made any more.
  std::function<std::vector<std::pair<ProbeFact, double>>(Probe probe, const Suspect& suspect)> probe;
};

// The times of `symptoms` are ages. Those that are older than the window are left out, as are groups of symptoms that
// do not meet the threshold, and suspects that the rules excuse. A suspect is its own analyst.
[[nodiscard]] std::vector<Verdict> analyse(const std::vector<Observation>& symptoms, const PostMortem& how);

}  // namespace cairn::localize
