// Which rules of a set can never hold: a person who wrote one believes that it does something.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "localize/names.hpp"
#include "localize/rules.hpp"

namespace cairn::localize {
namespace {

// What a value may be.
struct Range {
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  bool without_least = false;
  bool without_most = false;
  [[nodiscard]] bool empty() const { return least > most || (least == most && (without_least || without_most)); }

  void narrow(const Condition& condition) {
    const Comparison how = condition.comparison;
    const double value = condition.value;
    const bool open = how == Comparison::more || how == Comparison::less;
    const bool from_below = how == Comparison::at_least || how == Comparison::more;
    const bool from_above = how == Comparison::at_most || how == Comparison::less;
    if (how == Comparison::equal || from_below) raise(value, open);
    if (how == Comparison::equal || from_above) lower(value, open);
  }

 private:
  void raise(double value, bool open) {
    if (value > least || (value == least && open)) least = value, without_least = open;
  }
  void lower(double value, bool open) {
    if (value < most || (value == most && open)) most = value, without_most = open;
  }
};

// Yes or no, or a share. All others may be any number from 0 on.
bool is_at_most_one(std::size_t fact) {
  constexpr std::array kShares{ProbeFact::response_answers,
                               ProbeFact::response_process_alive,
                               ProbeFact::response_process_stopped,
                               ProbeFact::state_stolen,
                               ProbeFact::state_memory,
                               ProbeFact::state_store_used,
                               ProbeFact::state_store_errors,
                               ProbeFact::state_network_errors,
                               ProbeFact::log_bad_share,
                               ProbeFact::log_held,
                               ProbeFact::log_crowded};
  return std::ranges::any_of(kShares, [=](ProbeFact one) { return fact_of(one) == fact; });
}

bool can_hold(const std::vector<Condition>& conditions, const std::vector<bool>& derived) {
  std::map<std::size_t, Range> ranges;
  for (const Condition& condition : conditions) {
    if (condition.derived && !derived[condition.fact]) return false;
    if (condition.derived) continue;
    const auto [there, added] = ranges.try_emplace(condition.fact);
    if (added && is_at_most_one(condition.fact)) there->second.most = 1;
    there->second.narrow(condition);
  }
  return std::ranges::none_of(ranges, [](const auto& entry) { return entry.second.empty(); });
}

bool can_hold(const Rule& rule, const std::vector<bool>& derived) {
  return std::ranges::any_of(rule.any_of, [&](const auto& conditions) { return can_hold(conditions, derived); });
}

// The facts that some rule can conclude.
std::vector<bool> possible_facts(const RuleSet& rules) {
  std::vector<bool> derived(rules.derived.size());
  for (bool again = true; again;) {
    again = false;
    for (const Rule& rule : rules.rules) {
      if (rule.then != Then::fact || derived[rule.derived] || !can_hold(rule, derived)) continue;
      again = derived[rule.derived] = true;
    }
  }
  return derived;
}

}  // namespace

std::vector<RuleMistake> find_idle_rules(const RuleSet& rules) {
  const std::vector<bool> derived = possible_facts(rules);
  const auto is_suspected = [&](Fault fault) {
    return std::ranges::any_of(rules.rules, [&](const Rule& rule) {
      return rule.then == Then::suspect && can_hold(rule, derived) && std::ranges::count(rule.faults, fault) > 0;
    });
  };
  std::vector<RuleMistake> idle;
  for (const Rule& rule : rules.rules) {
    if (!can_hold(rule, derived)) {
      idle.push_back({rule.line, fmt::format("rule '{}' can never hold", rule.name),
                      "its conditions contradict each other, or need a fact that no rule can conclude"});
      continue;
    }
    for (const Fault fault : rule.faults) {
      if (rule.then != Then::confirm || is_suspected(fault)) continue;
      idle.push_back({rule.line,
                      fmt::format("rule '{}' confirms {}, which no rule suspects", rule.name, name_of(fault)),
                      fmt::format("add a rule with: then suspect {}", name_of(fault))});
    }
  }
  return idle;
}

}  // namespace cairn::localize
