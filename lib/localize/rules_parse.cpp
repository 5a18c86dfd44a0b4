#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/spelling.hpp"
#include "localize/names.hpp"
#include "localize/rules.hpp"

namespace cairn::localize {
namespace {

constexpr std::size_t kMostMistakes = 20;
constexpr std::pair<std::string_view, Comparison> kOperators[] = {{">=", Comparison::at_least},
                                                                  {"<=", Comparison::at_most},
                                                                  {">", Comparison::more},
                                                                  {"<", Comparison::less},
                                                                  {"=", Comparison::equal}};

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// The part of `text` before the first separator; `text` keeps the rest.
std::string_view take_until(std::string_view& text, std::string_view separator) {
  const auto end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + separator.size());
  return trimmed(part);
}

std::string_view take_word(std::string_view& text) {
  text = trimmed(text);
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text = trimmed(text.substr(word.size()));
  return word;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

// "did you mean X?", or the whole list.
std::string instead_of(std::string_view name, const std::vector<std::string>& names, std::string_view list) {
  const std::string* found = nullptr;
  std::size_t least = 0;
  for (const std::string& known : names) {
    const auto distance = near_distance(known, name);
    if (!distance || (found != nullptr && *distance >= least)) continue;
    found = &known;
    least = *distance;
  }
  if (found != nullptr) return fmt::format("did you mean {}?", *found);
  return fmt::format("{} {}", list, fmt::join(names, ", "));
}

std::vector<std::string> symptom_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kSymptomKinds; ++i) names.emplace_back(name_of(static_cast<SymptomKind>(i)));
  return names;
}

std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (static_cast<Fault>(i) != Fault::undetermined) names.emplace_back(name_of(static_cast<Fault>(i)));
  }
  return names;
}

class RulesText {
 public:
  explicit RulesText(std::string_view text) : rest_(text) { set_.weights.fill(1); }

  tl::expected<RuleSet, std::vector<RuleMistake>> parse() {
    while (!rest_.empty()) {
      ++line_;
      statement(take_until(rest_, "\n"));
    }
    end_rule();
    resolve();
    if (set_.rules.empty() && mistakes_.empty()) add_mistake(line_, "there is no rule", "begin one with: rule NAME");
    if (mistakes_.empty()) return std::move(set_);
    std::ranges::stable_sort(mistakes_, {}, &RuleMistake::line);
    mistakes_.resize(std::min(mistakes_.size(), kMostMistakes));
    return tl::unexpected(std::move(mistakes_));
  }

 private:
  // A fact that other rules may conclude, also later ones.
  struct Wanted {
    std::size_t rule, alternative, place;
    std::string name;
    std::uint32_t line;
  };

  void add_mistake(std::uint32_t line, std::string what, std::string instead) {
    mistakes_.push_back({line, std::move(what), std::move(instead)});
  }
  void add_mistake(std::string what, std::string instead) { add_mistake(line_, std::move(what), std::move(instead)); }

  void statement(std::string_view text) {
    if (text.empty() || text.front() == '#') return;
    const std::string_view word = take_word(text);
    if (word == "weight") return weight(text);
    if (word == "rule") return begin_rule(text);
    if (word != "if" && word != "then" && word != "why") {
      return add_mistake(fmt::format("'{}' begins no statement", word),
                         instead_of(word, {"weight", "rule", "if", "then", "why"}, "write one of"));
    }
    if (!rule_) return add_mistake(fmt::format("'{}' is outside a rule", word), "begin one with: rule NAME");
    if (word == "if") return conditions(text);
    if (word == "then") return conclusion(text);
    if (!rule_->why.empty()) return add_mistake("the rule has two reasons", "keep one line with why");
    if (text.empty()) return add_mistake("why has no words", "say why the rule holds");
    rule_->why = text;
  }

  void weight(std::string_view text) {
    const std::string_view name = take_word(text);
    const auto kind = symptom_named(name);
    if (!kind) {
      return add_mistake(fmt::format("unknown symptom '{}'", name), instead_of(name, symptom_names(), "symptoms are"));
    }
    const auto value = number(text);
    if (!value || *value < 0) {
      return add_mistake(fmt::format("'{}' is not a weight", text), "write a number, 0 or more: weight store_error 2");
    }
    set_.weights.at(static_cast<std::size_t>(*kind)) = *value;
  }

  void begin_rule(std::string_view name) {
    end_rule();
    rule_.emplace();
    has_then_ = false;
    rule_->line = line_;
    rule_->name = name;
    if (!is_name(name)) add_mistake(fmt::format("'{}' is not a name", name), "use small letters and _");
    const auto twice = std::ranges::find(set_.rules, name, &Rule::name);
    if (twice != set_.rules.end()) {
      add_mistake(fmt::format("there is a rule '{}' in line {} already", name, twice->line), "choose another name");
    }
  }

  void end_rule() {
    if (!rule_) return;
    const auto lacks = [&](std::string_view what, std::string_view instead) {
      add_mistake(rule_->line, fmt::format("rule '{}' has no {}", rule_->name, what), fmt::format("add: {}", instead));
    };
    if (rule_->any_of.empty() && !bad_if_) lacks("condition", "if SYMPTOM");
    if (!has_then_) lacks("conclusion", "then suspect FAULT");
    if (rule_->why.empty()) lacks("reason", "why WORDS");
    set_.rules.push_back(*std::move(rule_));
    rule_.reset();
    bad_if_ = false;
  }

  void conditions(std::string_view text) {
    std::vector<Condition> all;
    if (text.empty()) add_mistake("a condition is missing", "write a fact, such as heartbeat_missed.reporters >= 2");
    bool good = !text.empty();
    while (!text.empty()) {
      const auto condition = this->condition(take_until(text, " and "), all.size());
      if (condition) all.push_back(*condition);
      good = good && condition;
    }
    bad_if_ = bad_if_ || !good;
    if (good) rule_->any_of.push_back(std::move(all));
  }

  std::optional<Condition> condition(std::string_view text, std::size_t place) {
    const std::string_view whole = text;
    const std::string_view name = trimmed(text.substr(0, text.find_first_of("<>= \t")));
    text = trimmed(text.substr(name.size()));
    Condition condition;
    if (!text.empty()) {
      const auto* found = std::ranges::find_if(kOperators, [&](const auto& op) { return text.starts_with(op.first); });
      const auto value =
          found == std::end(kOperators) ? std::nullopt : number(trimmed(text.substr(found->first.size())));
      if (!value) {
        add_mistake(fmt::format("'{}' is not a condition", whole),
                    "write FACT, or FACT OP NUMBER with one of >= <= > < =, and `and` between conditions");
        return std::nullopt;
      }
      condition.comparison = found->second;
      condition.value = *value;
    }
    if (const auto fact = fact_named(name)) {
      condition.fact = *fact;
      return condition;
    }
    condition.derived = true;
    if (!text.empty() || !is_name(name)) {
      unknown_fact(line_, name);
      return std::nullopt;
    }
    wanted_.push_back({set_.rules.size(), rule_->any_of.size(), place, std::string(name), line_});
    return condition;
  }

  void unknown_fact(std::uint32_t line, std::string_view name) {
    std::vector<std::string> names = set_.derived;
    for (std::size_t fact = 0; fact < kFacts; ++fact) names.push_back(fact_name(fact));
    add_mistake(line, fmt::format("unknown fact '{}'", name), instead_of(name, names, "facts are"));
  }

  void conclusion(std::string_view text) {
    if (std::exchange(has_then_, true)) return add_mistake("the rule has two conclusions", "make two rules of it");
    const std::string_view word = take_word(text);
    if (word == "fact") return conclude_fact(text);
    if (word == "suspect" || word == "confirm")
      return conclude_faults(word == "suspect" ? Then::suspect : Then::confirm, text);
    if (word != "excuse" || !text.empty()) {
      return add_mistake(fmt::format("'{}' is not a conclusion", word.empty() ? text : word),
                         "write: then fact NAME, then suspect FAULT, FAULT …, then confirm FAULT, or then excuse");
    }
    rule_->then = Then::excuse;
  }

  void conclude_fact(std::string_view name) {
    if (!is_name(name)) return add_mistake(fmt::format("'{}' is not a name", name), "use small letters and _");
    if (fact_named(name))
      return add_mistake(fmt::format("'{}' is a fact that is observed", name), "choose another name");
    rule_->then = Then::fact;
    const auto found = std::ranges::find(set_.derived, name);
    rule_->derived = static_cast<std::size_t>(found - set_.derived.begin());
    if (found == set_.derived.end()) set_.derived.emplace_back(name);
  }

  void conclude_faults(Then then, std::string_view text) {
    rule_->then = then;
    if (text.empty()) return add_mistake("a fault is missing", instead_of("", fault_names(), "faults are"));
    while (!text.empty()) {
      const std::string_view name = take_until(text, ",");
      if (const auto fault = fault_named(name)) {
        rule_->faults.push_back(*fault);
      } else {
        add_mistake(fmt::format("unknown fault '{}'", name), instead_of(name, fault_names(), "faults are"));
      }
    }
  }

  static std::optional<double> number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
  }

  // Facts may be concluded after they are used. Lists of conditions with a mistake have not been kept.
  void resolve() {
    for (const Wanted& wanted : wanted_) {
      const auto found = std::ranges::find(set_.derived, wanted.name);
      if (found == set_.derived.end()) {
        unknown_fact(wanted.line, wanted.name);
      } else if (mistakes_.empty()) {
        set_.rules[wanted.rule].any_of[wanted.alternative][wanted.place].fact =
            static_cast<std::size_t>(found - set_.derived.begin());
      }
    }
  }

  std::string_view rest_;
  std::uint32_t line_ = 0;
  RuleSet set_;
  std::optional<Rule> rule_;
  bool has_then_ = false;
  bool bad_if_ = false;
  std::vector<Wanted> wanted_;
  std::vector<RuleMistake> mistakes_;
};

}  // namespace

tl::expected<RuleSet, std::vector<RuleMistake>> parse_rules(std::string_view text) { return RulesText(text).parse(); }

}  // namespace cairn::localize
