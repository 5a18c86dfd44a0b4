// A node's part in fault localization. It reports symptoms to the node that analyses their suspect, analyses those
// about its own suspects, answers probes, and, at the root, announces verdicts. Method: see rules.hpp.
//
// Nothing blocks. The owner hands over messages as they arrive, and calls turn() about every 50 ms, which may be left
// out while idle(). Pure: time comes from the clock, and messages go through the port.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.hpp"
#include "base/symptom.hpp"
#include "localize/analysis.hpp"
#include "localize/courier.hpp"
#include "localize/errands.hpp"
#include "localize/evidence.hpp"
#include "localize/messages.hpp"
#include "localize/probe_round.hpp"
#include "localize/rules.hpp"
#include "localize/survey.hpp"
#include "localize/tree.hpp"
#include "localize/verdicts.hpp"

namespace cairn::localize {

class Localizer : public SymptomPort {
 public:
  // Keeps references to `settings`, `port` and `host`.
  Localizer(NodeId self, Tree tree, const Settings& settings, std::shared_ptr<const RuleSet> rules, Clock clock,
            Port& port, const Host& host);
  Localizer(const Localizer&) = delete;
  Localizer& operator=(const Localizer&) = delete;

  // For the analyses that begin from now on.
  void use(std::shared_ptr<const RuleSet> rules) { rules_ = std::move(rules); }
  void report(const Symptom& symptom) override;
  void receive(const Message& message);
  void turn();
  // A rank of this node has been waiting for long. Asks all nodes for the calls of their ranks, and reports those for
  // which others wait. Of many nodes that want to ask at the same time, one does. To be called again while it waits.
  void ask_for_calls();
  [[nodiscard]] bool idle() const;

  // For a spool, when a life ends: what has been seen, and is not a verdict yet. Each observation once; times are ages.
  [[nodiscard]] std::vector<Observation> pending() const;
  // From the spool of an earlier life.
  void take_up(const Observation& aged);
  // Whether all that this node has seen lies with the nodes that analyse it.
  [[nodiscard]] bool delivered() const { return courier_.delivered(); }

  // The symptoms of the analysis about the node that is under way here; nullptr: there is none.
  [[nodiscard]] const Group* analysed(NodeId node) const;
  // At the root: the verdicts that hold.
  [[nodiscard]] std::vector<Verdict> standing() const { return all_.standing(); }
  // How much is kept: symptoms, notes, analyses.
  [[nodiscard]] std::size_t size() const { return evidence_.size() + courier_.size() + cases_.size(); }

 private:
  struct Case {
    Analysis analysis;
    std::optional<ProbeRound> round;
    std::optional<Verdict> again;  // it is confirmed again
  };
  struct Excuse {
    Time until{};
    Symptoms kinds;
  };

  void handle(NodeId from, std::uint64_t number, const EvidenceNote& note);
  void handle(NodeId from, std::uint64_t number, const VerdictNote& note);
  void handle(NodeId from, std::uint64_t number, const Receipt& receipt);
  void handle(NodeId from, std::uint64_t number, const Question& question);
  void handle(NodeId from, std::uint64_t number, const Answer& answer);
  void handle(NodeId from, std::uint64_t number, const Bulletin& bulletin);
  [[nodiscard]] bool seen_before(NodeId from, std::uint64_t number);

  void keep(const Observation& observation);
  [[nodiscard]] bool excused(const Observation& observation) const;
  void take_own_notes();
  void hand_on();
  void begin_analyses();
  void recheck();
  [[nodiscard]] bool is_suspected(const Verdict& verdict) const;
  void advance();
  // Whether the case is over.
  bool advance(Case& one);
  [[nodiscard]] ProbeRound begin_round(Probe probe, const Suspect& suspect);
  void learn(Analysis& analysis, const ProbeRound& round) const;
  void finish_survey();
  void conclude(const Case& one);
  void conclude_again(const Case& one, const Verdict& before);
  void excuse(const Analysis& analysis);
  void send_to_root(const Verdict& verdict);
  void announce(const Verdict& verdict);
  void publish(NodeId node, bool dead);
  void publish_again();

  NodeId self_;
  Tree tree_;
  const Settings& settings_;
  Clock clock_;
  Port& port_;
  const Host& host_;
  std::shared_ptr<const RuleSet> rules_;
  Time now_{};
  std::uint64_t numbers_ = 1;
  Availability known_;
  Courier courier_;
  Evidence evidence_;
  std::set<NodeId> fresh_;  // new symptoms have come about them
  std::map<NodeId, Case> cases_;
  Errands errands_;
  Survey survey_;
  std::map<Suspect, Excuse> excuses_;
  OwnVerdicts own_;
  AllVerdicts all_;
  std::optional<NodeId> root_;
  std::map<NodeId, std::vector<std::uint64_t>> received_;  // the newest notes of each node
  Time next_review_{};
  Time next_publication_{};
};

}  // namespace cairn::localize
