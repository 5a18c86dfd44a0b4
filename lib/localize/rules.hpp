// The rules of fault localization: what symptoms make which faults candidates, and what confirms one. They come from a
// file; a default set is compiled in. Pure.
//
// Source of the method: Gao, Yu, Qing, Wei, "Distributed fault localization framework for high performance computing"
// (MPFL), Journal of Computer Applications 2018(1). Its tables of symptoms and rules are not available to us: those
// here are our own.
//
// A file of rules has one statement a line; blank lines and lines that begin with # are left out:
//
//   weight SYMPTOM NUMBER             how much one symptom of this kind adds to the threshold; 1 if not given
//
//   rule NAME
//   if CONDITION and CONDITION …      of several lines that begin with `if`, one is enough
//   then fact NAME                    other rules may ask after it
//   then suspect FAULT, FAULT, …      candidates, in order of likelihood
//   then confirm FAULT                it is this, if it is a candidate
//   then excuse                       the suspect is not the cause
//   why WORDS                         why the rule holds, for a person
//
// A rule has each of `rule`, `then` and `why` once. A condition is FACT, which stands for FACT > 0, or FACT OP NUMBER
// with one of the operators >= <= > < =. Facts are those of facts.hpp, and those that rules conclude. A condition on
// a fact that is not known yet does not hold.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "localize/facts.hpp"
#include "localize/fault.hpp"

namespace cairn::localize {

enum class Comparison : std::uint8_t { at_least, at_most, more, less, equal };

struct Condition {
  bool derived = false;  // `fact` is a place in RuleSet::derived
  std::size_t fact = 0;
  Comparison comparison = Comparison::more;
  double value = 0;
};

enum class Then : std::uint8_t { fact, suspect, confirm, excuse };

struct Rule {
  std::string name;
  std::vector<std::vector<Condition>> any_of;  // each list as a whole
  Then then = Then::excuse;
  std::size_t derived = 0;    // of Then::fact: a place in RuleSet::derived
  std::vector<Fault> faults;  // of Then::suspect and Then::confirm
  std::string why;
  std::uint32_t line = 0;
};

using Symptoms = std::bitset<kSymptomKinds>;

struct RuleSet {
  std::vector<Rule> rules;
  std::vector<std::string> derived;
  std::array<double, kSymptomKinds> weights{};

  [[nodiscard]] double weight(SymptomKind kind) const { return weights.at(static_cast<std::size_t>(kind)); }
};

struct Conclusions {
  std::vector<Fault> candidates;  // the most likely first
  std::vector<Fault> confirmed;   // of the candidates, in the same order
  bool excused = false;
  std::vector<std::size_t> fired;  // rules, in the order in which they held
};

// Forward chaining: applies rules until nothing new follows.
[[nodiscard]] Conclusions reason(const RuleSet& rules, const FactTable& facts);
// The probes that may still confirm one of the candidates or excuse the suspect: those whose facts are not known, and
// on which a rule depends that can still hold.
[[nodiscard]] std::set<Probe> useful_probes(const RuleSet& rules, const FactTable& facts,
                                            const std::vector<Fault>& candidates);
// The symptoms that make a fault a candidate, so that it explains them.
[[nodiscard]] Symptoms explained_by(const RuleSet& rules, Fault fault);
// The symptoms that the rule asks after, also by the facts of other rules.
[[nodiscard]] Symptoms asked_by(const RuleSet& rules, const Rule& rule);

struct RuleMistake {
  std::uint32_t line = 0;
  std::string what;
  std::string instead;  // what would be right
  friend bool operator==(const RuleMistake&, const RuleMistake&) = default;
};
// All mistakes, by line.
[[nodiscard]] tl::expected<RuleSet, std::vector<RuleMistake>> parse_rules(std::string_view text);
// Rules without a mistake that can never do anything.
[[nodiscard]] std::vector<RuleMistake> find_idle_rules(const RuleSet& rules);
[[nodiscard]] std::string_view default_rules_text();

// The rules in force. Starts with the default set.
class RuleBook {
 public:
  RuleBook();
  enum class Renewal : std::uint8_t {
    unchanged,
    changed,
    refused,  // there are mistakes(), and the rules stay as they were
  };
  // Takes what the file holds now. To be called again and again: text that was seen before costs a comparison.
  Renewal renew(std::string_view text);
  [[nodiscard]] std::shared_ptr<const RuleSet> rules() const { return rules_; }
  [[nodiscard]] const std::vector<RuleMistake>& mistakes() const { return mistakes_; }

 private:
  std::string text_;
  std::shared_ptr<const RuleSet> rules_;
  std::vector<RuleMistake> mistakes_;
};

}  // namespace cairn::localize
