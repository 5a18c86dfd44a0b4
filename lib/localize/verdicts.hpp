// The verdicts that hold. At an analyst: its own, each confirmed again from time to time. At the root: those of all,
// where equal ones are one. Pure.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "localize/messages.hpp"
#include "localize/rules.hpp"

namespace cairn::localize {

inline constexpr std::size_t kMostVerdicts = 1024;

// What an analyst has found.
class OwnVerdicts {
 public:
  explicit OwnVerdicts(const Settings& settings) : settings_(settings) {}

  // Whether a verdict explains the symptom.
  [[nodiscard]] bool explains(const Observation& observation) const;
  // The same for one that has just come: its verdict is not quiet.
  bool note(const Observation& observation);
  // Answers with what the root has to be told: the verdict if it is new, names more nodes, or was found with other
  // figures, and those that it replaces, withdrawn.
  [[nodiscard]] std::vector<Verdict> add(const Verdict& verdict, const RuleSet& rules, Time now);
  // The next one that is due to be confirmed again; the due date moves on.
  [[nodiscard]] std::optional<Verdict> due(Time now);
  // A verdict about the node is to be confirmed again at once.
  void doubt(NodeId node, Time now);
  // The verdict was not confirmed again. Answers with it, withdrawn; none: it is not there any longer.
  [[nodiscard]] std::optional<Verdict> withdraw(const Verdict& verdict);
  // Whether symptoms have come since the verdict was confirmed last.
  [[nodiscard]] bool quiet(const Verdict& verdict) const;
  [[nodiscard]] std::vector<Verdict> all() const;
  [[nodiscard]] bool empty() const { return standing_.empty(); }

 private:
  struct Standing {
    Verdict verdict;
    Symptoms explained;
    Time next_check{};
    bool quiet = true;
  };
  [[nodiscard]] Time interval(const Verdict& verdict) const;
  static bool explains(const Standing& standing, const Observation& observation);

  const Settings& settings_;
  std::vector<Standing> standing_;
};

// What the root knows.
class AllVerdicts {
 public:
  // Equal faults of several analysts are one. Answers with the verdict as it is now, if that is new to the user: it is
  // the first of its kind, or was withdrawn.
  [[nodiscard]] std::optional<Verdict> merge(const Verdict& verdict);
  // Those that have got more nodes since. A partition of hundreds of nodes grows node by node: the user is not told
  // each time.
  [[nodiscard]] std::vector<Verdict> take_grown();
  // Those whose analyst has other figures by now.
  [[nodiscard]] std::vector<Verdict> take_renewed();
  [[nodiscard]] bool any_news() const {
    return std::ranges::any_of(claims_, [](const Claim& claim) { return claim.grown || claim.renewed; });
  }
  [[nodiscard]] std::vector<Verdict> standing() const;

 private:
  struct Claim {
    Verdict verdict;
    std::set<NodeId> analysts;
    bool grown = false;
    bool renewed = false;
  };
  std::vector<Claim> claims_;
};

}  // namespace cairn::localize
