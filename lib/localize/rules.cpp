#include "localize/rules.hpp"

#include <algorithm>
#include <optional>

namespace cairn::localize {
namespace {

bool compare(double a, Comparison comparison, double b) {
  switch (comparison) {
    case Comparison::at_least: return a >= b;
    case Comparison::at_most: return a <= b;
    case Comparison::more: return a > b;
    case Comparison::less: return a < b;
    case Comparison::equal: return a == b;
  }
  return false;
}

class Chaining {
 public:
  // Whether a condition on a fact that is not known yet holds.
  enum class Unknown { fails, holds };

  Chaining(const RuleSet& rules, const FactTable& facts, Unknown unknown)
      : rules_(rules), facts_(facts), unknown_(unknown), derived_(rules.derived.size()) {}

  // The rules that hold, once nothing new follows.
  std::vector<std::size_t> run() {
    std::vector<std::size_t> fired;
    std::vector<bool> done(rules_.rules.size());
    for (bool again = true; again;) {
      again = false;
      for (std::size_t i = 0; i < done.size(); ++i) {
        const Rule& rule = rules_.rules[i];
        if (done[i] || !holds(rule)) continue;
        done[i] = true;
        fired.push_back(i);
        if (rule.then == Then::fact && !derived_[rule.derived]) again = derived_[rule.derived] = true;
      }
    }
    return fired;
  }
  [[nodiscard]] bool holds(const std::vector<Condition>& conditions) const {
    return std::ranges::all_of(conditions, [&](const Condition& condition) { return holds(condition); });
  }

 private:
  [[nodiscard]] bool holds(const Rule& rule) const {
    return std::ranges::any_of(rule.any_of, [&](const auto& conditions) { return holds(conditions); });
  }
  [[nodiscard]] bool holds(const Condition& condition) const {
    if (condition.derived) return derived_[condition.fact];
    const auto value = facts_.get(condition.fact);
    return value ? compare(*value, condition.comparison, condition.value) : unknown_ == Unknown::holds;
  }

  const RuleSet& rules_;
  const FactTable& facts_;
  Unknown unknown_;
  std::vector<bool> derived_;
};

// Visits rules backwards, from one that concludes something to those that conclude the facts it asks after.
template <class Visit>
void visit_premises(const RuleSet& rules, const Rule& rule, std::vector<bool>& seen, Visit visit) {
  for (const auto& conditions : rule.any_of) {
    if (!visit(conditions)) continue;
    for (const Condition& condition : conditions) {
      if (!condition.derived || seen[condition.fact]) continue;
      seen[condition.fact] = true;
      for (const Rule& other : rules.rules) {
        if (other.then == Then::fact && other.derived == condition.fact) visit_premises(rules, other, seen, visit);
      }
    }
  }
}

bool concludes(const Rule& rule, Fault fault) { return std::ranges::find(rule.faults, fault) != rule.faults.end(); }

}  // namespace

Conclusions reason(const RuleSet& rules, const FactTable& facts) {
  Conclusions conclusions;
  conclusions.fired = Chaining(rules, facts, Chaining::Unknown::fails).run();
  auto in_order = conclusions.fired;
  std::ranges::sort(in_order);
  const auto add_once = [](std::vector<Fault>& to, Fault fault) {
    if (std::ranges::find(to, fault) == to.end()) to.push_back(fault);
  };
  for (const std::size_t i : in_order) {
    const Rule& rule = rules.rules[i];
    if (rule.then == Then::excuse) conclusions.excused = true;
    if (rule.then != Then::suspect) continue;
    for (const Fault fault : rule.faults) add_once(conclusions.candidates, fault);
  }
  for (const Fault fault : conclusions.candidates) {
    const bool confirmed = std::ranges::any_of(in_order, [&](std::size_t i) {
      return rules.rules[i].then == Then::confirm && concludes(rules.rules[i], fault);
    });
    if (confirmed) add_once(conclusions.confirmed, fault);
  }
  return conclusions;
}

std::set<Probe> useful_probes(const RuleSet& rules, const FactTable& facts, const std::vector<Fault>& candidates) {
  std::set<Probe> useful;
  std::vector<bool> seen(rules.derived.size());
  Chaining possible(rules, facts, Chaining::Unknown::holds);
  (void)possible.run();
  const auto visit = [&](const std::vector<Condition>& conditions) {
    if (!possible.holds(conditions)) return false;
    for (const Condition& condition : conditions) {
      if (condition.derived || facts.get(condition.fact)) continue;
      if (const auto probe = probe_of(condition.fact)) useful.insert(*probe);
    }
    return true;
  };
  for (const Rule& rule : rules.rules) {
    const bool matters = rule.then == Then::excuse ||
                         (rule.then == Then::confirm &&
                          std::ranges::any_of(candidates, [&](Fault fault) { return concludes(rule, fault); }));
    if (matters) visit_premises(rules, rule, seen, visit);
  }
  return useful;
}

Symptoms explained_by(const RuleSet& rules, Fault fault) {
  Symptoms explained;
  for (const Rule& rule : rules.rules) {
    if (rule.then == Then::suspect && concludes(rule, fault)) explained |= asked_by(rules, rule);
  }
  return explained;
}

Symptoms asked_by(const RuleSet& rules, const Rule& rule) {
  Symptoms asked;
  std::vector<bool> seen(rules.derived.size());
  visit_premises(rules, rule, seen, [&](const std::vector<Condition>& conditions) {
    for (const Condition& condition : conditions) {
      if (condition.derived) continue;
      if (const auto kind = symptom_of(condition.fact)) asked.set(static_cast<std::size_t>(*kind));
    }
    return true;
  });
  return asked;
}

RuleBook::RuleBook() : text_(default_rules_text()), rules_(std::make_shared<RuleSet>(parse_rules(text_).value())) {}

RuleBook::Renewal RuleBook::renew(std::string_view text) {
  if (text == text_) return Renewal::unchanged;
  text_ = text;
  auto rules = parse_rules(text_);
  if (!rules) {
    mistakes_ = std::move(rules.error());
    return Renewal::refused;
  }
  mistakes_.clear();
  rules_ = std::make_shared<RuleSet>(*std::move(rules));
  return Renewal::changed;
}

}  // namespace cairn::localize
