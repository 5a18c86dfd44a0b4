// One analysis of one group of symptoms: which faults may explain it, and which probes find out. Pure: the owner makes
// the probes and brings their answers.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "localize/evidence.hpp"
#include "localize/facts.hpp"
#include "localize/fault.hpp"
#include "localize/rules.hpp"

namespace cairn::localize {

class Analysis {
 public:
  // Requires: the group is not empty. `threshold_at`: when it met the threshold.
  Analysis(std::shared_ptr<const RuleSet> rules, Group group, Time threshold_at);

  [[nodiscard]] const Suspect& suspect() const { return suspect_; }
  // The cheapest probe that may decide and has not been made. None: the outcome is known.
  [[nodiscard]] std::optional<Probe> next_probe() const;
  // The probe was answered, or its time is up. Facts that it did not find stay unknown.
  void learn(Probe probe, const std::vector<std::pair<ProbeFact, double>>& found);

  // Others wait for the suspect.
  void learn(const Blocker& blocker) { blocker_ = blocker; }

  // The symptoms that the rules which excuse the suspect ask after.
  [[nodiscard]] Symptoms excused() const;

  enum class Outcome { open, confirmed, undetermined, excused };
  [[nodiscard]] Outcome outcome() const;
  // Requires: the outcome is known, and is not `excused`.
  [[nodiscard]] Verdict verdict(NodeId analyst, Time now) const;
  [[nodiscard]] const Group& group() const { return group_; }

 private:
  std::shared_ptr<const RuleSet> rules_;
  Group group_;
  Suspect suspect_;
  Time threshold_at_;
  FactTable facts_;
  Conclusions conclusions_;
  std::set<Probe> made_;
  bool fell_silent_ = false;
  std::optional<Blocker> blocker_;
};

}  // namespace cairn::localize
