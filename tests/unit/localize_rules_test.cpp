// The rules: how they are read, what follows from them, and what is said of mistakes.
#include "localize/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "localize/names.hpp"
#include "localize/words.hpp"

namespace cairn::localize {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kSmall = R"(
weight store_error 2
rule quiet
if heartbeat_missed.reporters >= 2
if no_response and heartbeat_missed
then fact silent
why two see it
rule suspicion
if silent
then suspect node_down, head_overloaded
why it is off, or busy
rule off
if silent and response.answers = 0
then confirm node_down
why it does not answer
rule busy
if state.queue > 0.5
then confirm head_overloaded
why messages wait
rule innocent
if silent and log.blocks = 1
then excuse
why it waits
)";

RuleSet small() { return parse_rules(kSmall).value(); }

Observation seen(SymptomKind kind, std::uint32_t reporter, std::uint32_t count = 1) {
  Observation observation;
  observation.kind = kind;
  observation.reporter = NodeId{reporter};
  observation.count = count;
  return observation;
}

RuleMistake mistake_in(std::string_view text) {
  const auto rules = parse_rules(text);
  if (rules || rules.error().empty()) return {};
  return rules.error().front();
}

TEST(Rules, the_default_set_can_be_read_and_confirms_every_fault) {
  const RuleSet rules = *RuleBook().rules();
  for (std::size_t i = 0; i < kFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    if (fault == Fault::undetermined) continue;
    const auto concluded = [&](Then then) {
      return std::ranges::any_of(rules.rules, [&](const Rule& rule) {
        return rule.then == then && std::ranges::find(rule.faults, fault) != rule.faults.end();
      });
    };
    EXPECT_TRUE(concluded(Then::suspect)) << name_of(fault);
    EXPECT_TRUE(concluded(Then::confirm)) << name_of(fault);
  }
  for (const Rule& rule : rules.rules) EXPECT_FALSE(rule.why.empty()) << rule.name;
}

TEST(Rules, derive_facts_from_facts_until_nothing_new_follows) {
  const std::vector group{seen(SymptomKind::heartbeat_missed, 1), seen(SymptomKind::heartbeat_missed, 2)};
  const auto conclusions = reason(small(), FactTable(group));
  EXPECT_THAT(conclusions.candidates, ElementsAre(Fault::node_down, Fault::head_overloaded));
  EXPECT_THAT(conclusions.confirmed, IsEmpty());
}

TEST(Rules, one_line_with_if_is_enough_and_all_of_its_conditions_are_needed) {
  EXPECT_THAT(reason(small(), FactTable(std::vector{seen(SymptomKind::heartbeat_missed, 1)})).candidates, IsEmpty());
  const std::vector both{seen(SymptomKind::heartbeat_missed, 1), seen(SymptomKind::no_response, 1)};
  EXPECT_THAT(reason(small(), FactTable(both)).candidates, ElementsAre(Fault::node_down, Fault::head_overloaded));
}

TEST(Rules, a_fact_that_is_not_known_confirms_nothing) {
  const std::vector group{seen(SymptomKind::heartbeat_missed, 1), seen(SymptomKind::heartbeat_missed, 2)};
  FactTable facts(group);
  EXPECT_THAT(useful_probes(small(), facts, {Fault::node_down}), ElementsAre(Probe::response, Probe::log));
  facts.set(ProbeFact::response_answers, 0);
  EXPECT_THAT(reason(small(), facts).confirmed, ElementsAre(Fault::node_down));
}

TEST(Rules, a_probe_is_useless_once_its_rule_cannot_hold) {
  const std::vector group{seen(SymptomKind::heartbeat_missed, 1), seen(SymptomKind::heartbeat_missed, 2)};
  EXPECT_THAT(useful_probes(small(), FactTable(group), {Fault::head_overloaded}),
              ElementsAre(Probe::state, Probe::log));
  FactTable facts(group);
  facts.set(ProbeFact::state_queue, 0.1);
  facts.set(ProbeFact::log_blocks, 0);
  EXPECT_THAT(useful_probes(small(), facts, {Fault::head_overloaded}), IsEmpty());
}

TEST(Rules, a_probe_is_useless_where_the_fact_of_another_rule_cannot_follow) {
  const std::vector group{seen(SymptomKind::store_error, 1)};
  EXPECT_THAT(useful_probes(small(), FactTable(group), {Fault::head_overloaded}), ElementsAre(Probe::state));
}

// Seen in the simulation of a day: the head has paused for longer than a probe waits, and goes on.
TEST(DefaultRules, excuse_a_node_that_answers_others_after_a_pause) {
  const std::vector group{seen(SymptomKind::heartbeat_missed, 1), seen(SymptomKind::heartbeat_missed, 2)};
  FactTable facts(group);
  facts.set(ProbeFact::response_answers, 0);
  facts.set(ProbeFact::witness_reached, 8);
  facts.set(ProbeFact::witness_near_silent, 0);
  facts.set(ProbeFact::state_queue, 0);
  const Conclusions conclusions = reason(*RuleBook().rules(), facts);
  EXPECT_THAT(conclusions.confirmed, IsEmpty());
  EXPECT_TRUE(conclusions.excused);
}

TEST(Rules, a_fault_that_no_rule_suspects_is_not_confirmed) {
  FactTable facts;
  facts.set(ProbeFact::state_queue, 1);
  EXPECT_THAT(reason(small(), facts).confirmed, IsEmpty());
}

TEST(Rules, a_fault_explains_the_symptoms_that_make_it_a_candidate) {
  const Symptoms explained = explained_by(small(), Fault::node_down);
  EXPECT_TRUE(explained.test(static_cast<std::size_t>(SymptomKind::heartbeat_missed)));
  EXPECT_TRUE(explained.test(static_cast<std::size_t>(SymptomKind::no_response)));
  EXPECT_EQ(explained.count(), 2U);
}

// A store that fails now and then, amid many operations that go well, is to be replaced as well.
TEST(DefaultRules, confirm_a_store_that_fails_rarely) {
  const std::vector group{seen(SymptomKind::store_error, 1, 2)};
  FactTable facts(group);
  facts.set(ProbeFact::state_store_errors, 0.0001);
  EXPECT_THAT(reason(*RuleBook().rules(), facts).confirmed, IsEmpty());
  facts.set(ProbeFact::state_store_failed, 2);
  EXPECT_THAT(reason(*RuleBook().rules(), facts).confirmed, ElementsAre(Fault::store_failing));
}

TEST(Rules, weights_are_one_unless_given) {
  EXPECT_EQ(small().weight(SymptomKind::store_error), 2);
  EXPECT_EQ(small().weight(SymptomKind::crc_mismatch), 1);
}

TEST(RuleMistakes, name_the_line_and_what_would_be_right) {
  EXPECT_EQ(mistake_in("rule a\nif hartbeat_missed\nthen excuse\nwhy x\n"),
            (RuleMistake{2, "unknown fact 'hartbeat_missed'", "did you mean heartbeat_missed?"}));
  EXPECT_EQ(mistake_in("rule a\nif no_response\nthen suspect nod_down\nwhy x\n"),
            (RuleMistake{3, "unknown fault 'nod_down'", "did you mean node_down?"}));
  EXPECT_EQ(mistake_in("weight crc_mismatch much\n"),
            (RuleMistake{1, "'much' is not a weight", "write a number, 0 or more: weight store_error 2"}));
  EXPECT_EQ(mistake_in("rule a\nif no_response\nthen excuse\n"),
            (RuleMistake{1, "rule 'a' has no reason", "add: why WORDS"}));
  EXPECT_EQ(mistake_in("rule a\nthen excuse\nwhy x\n"),
            (RuleMistake{1, "rule 'a' has no condition", "add: if SYMPTOM"}));
  EXPECT_EQ(mistake_in("rule a\nif no_response\nwhy x\n"),
            (RuleMistake{1, "rule 'a' has no conclusion", "add: then suspect FAULT"}));
  EXPECT_EQ(mistake_in("# nothing\n"), (RuleMistake{1, "there is no rule", "begin one with: rule NAME"}));
  EXPECT_EQ(mistake_in("when no_response\n").line, 1U);
  EXPECT_EQ(mistake_in("if no_response\n").instead, "begin one with: rule NAME");
}

TEST(RuleMistakes, are_all_found_and_ordered_by_line) {
  const auto rules =
      parse_rules("rule a\nif no_response >> 2\nthen suspect undetermined\nwhy x\nrule a\nif b\nthen c\nwhy\n");
  ASSERT_FALSE(rules);
  std::vector<std::uint32_t> lines;
  for (const RuleMistake& mistake : rules.error()) lines.push_back(mistake.line);
  EXPECT_THAT(lines, ElementsAre(2, 3, 5, 5, 6, 7, 8));
}

// The lines of the rules that can never do anything.
std::vector<std::uint32_t> idle(std::string_view text) {
  std::vector<std::uint32_t> lines;
  for (const RuleMistake& mistake : find_idle_rules(parse_rules(text).value())) lines.push_back(mistake.line);
  return lines;
}

TEST(IdleRules, are_none_of_the_default_set) { EXPECT_THAT(find_idle_rules(*RuleBook().rules()), IsEmpty()); }

TEST(IdleRules, contradict_themselves_or_what_a_fact_can_be) {
  const auto with = [](const std::string& condition) {
    return idle("rule a\nif " + condition + "\nthen excuse\nwhy x\n");
  };
  for (const char* const never : {"store_error >= 3 and store_error < 2", "store_error > 2 and store_error < 2",
                                  "store_error > 2 and store_error <= 2", "store_error = 2 and store_error = 3",
                                  "store_error < 0", "response.answers > 1", "state.memory >= 2"})
    EXPECT_THAT(with(never), ElementsAre(1)) << never;
  for (const char* const may : {"store_error >= 2 and store_error <= 2", "store_error = 0", "response.answers >= 1",
                                "store_error > 2 and crc_mismatch < 2", "state.load >= 2"})
    EXPECT_THAT(with(may), IsEmpty()) << may;
}

// One of several lines is enough, and a fact may follow from any rule.
TEST(IdleRules, need_what_no_rule_concludes_or_suspects) {
  EXPECT_THAT(idle("rule a\nif store_error < 0\nif store_error\nthen excuse\nwhy x\n"), IsEmpty());
  const std::string impossible = "rule a\nif store_error < 0\nthen fact never\nwhy x\n";
  const std::string user = "rule b\nif never\nthen excuse\nwhy x\n";
  EXPECT_THAT(idle(impossible + user), ElementsAre(1, 5));
  EXPECT_THAT(idle(impossible + user + "rule c\nif crc_mismatch\nthen fact never\nwhy x\n"), ElementsAre(1));
  const std::string confirms = "rule d\nif state.queue > 1\nthen confirm head_overloaded\nwhy x\n";
  EXPECT_THAT(idle(confirms), ElementsAre(1));
  EXPECT_THAT(idle(confirms + "rule e\nif no_response\nthen suspect head_overloaded\nwhy x\n"), IsEmpty());
}

TEST(RuleMistakes, are_told_with_the_file_in_front) {
  const RuleMistake mistake{12, "unknown fact 'x'", "did you mean y?"};
  EXPECT_EQ(mistake_text("sick.rules", mistake), "sick.rules:12: unknown fact 'x' (did you mean y?)");
}

TEST(RuleBook, takes_new_rules_and_keeps_the_old_ones_if_there_is_a_mistake) {
  RuleBook book;
  const auto before = book.rules();
  EXPECT_EQ(book.renew(default_rules_text()), RuleBook::Renewal::unchanged);
  EXPECT_EQ(book.renew("rule a\n"), RuleBook::Renewal::refused);
  EXPECT_EQ(book.rules(), before);
  EXPECT_FALSE(book.mistakes().empty());
  EXPECT_EQ(book.renew("rule a\n"), RuleBook::Renewal::unchanged);
  EXPECT_EQ(book.renew(kSmall), RuleBook::Renewal::changed);
  EXPECT_THAT(book.mistakes(), IsEmpty());
  EXPECT_EQ(book.rules()->rules.size(), 5U);
  EXPECT_EQ(before->rules.size(), parse_rules(default_rules_text())->rules.size());  // analyses under way keep theirs
}

TEST(RuleText, says_of_each_rule_what_follows_and_why) {
  const RuleSet rules = small();
  EXPECT_EQ(rule_text(rules, rules.rules[1]),
            "suspicion: if silent, suspect node_down, head_overloaded: it is off, or busy");
  EXPECT_THAT(rule_text(rules, rules.rules[0]),
              HasSubstr("if heartbeat_missed.reporters >= 2, or no_response and heartbeat_missed, then silent"));
}

}  // namespace
}  // namespace cairn::localize
