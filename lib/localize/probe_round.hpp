// One message probe that is under way: what was asked of whom, what was answered, and the facts that follow. Pure.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "localize/facts.hpp"
#include "localize/messages.hpp"
#include "localize/tree.hpp"

namespace cairn::localize {

using FoundFacts = std::vector<std::pair<ProbeFact, double>>;

// The nodes that are asked whether they reach the suspect: its neighbours by number, which share switches with it, and
// some that are far from it; half of each, in this order. Neither the suspect nor the analyst, nor known to be dead.
[[nodiscard]] std::vector<NodeId> witnesses_for(const Tree& tree, NodeId suspect, NodeId analyst,
                                                const Availability& known, std::uint32_t most);

class ProbeRound {
 public:
  // `calls`: a log probe that asks for the MPI calls of ranks. Of several nodes, the first is the suspect's.
  ProbeRound(Probe probe, const Suspect& suspect, std::vector<NodeId> asked, Time now, Time limit, bool calls = false);

  // Sends the questions that are due.
  void turn(NodeId self, Time now, Port& port, std::uint64_t& numbers, const Settings& settings);
  // Whether the answer belongs to this probe.
  bool take(NodeId from, const Answer& answer, Time now);
  [[nodiscard]] bool done(Time now) const;
  [[nodiscard]] Probe probe() const { return probe_; }
  [[nodiscard]] bool asks_for_calls() const { return calls_; }
  // Of a probe that asks for calls.
  [[nodiscard]] CallReports reports() const;
  // What was found. `own`: what the analyst knows about itself, to compare with.
  [[nodiscard]] FoundFacts facts(const NodeState& own) const;

 private:
  struct Asked {
    NodeId to;
    std::uint64_t number = 0;
    std::optional<Answer> answer;
  };
  Probe probe_;
  Suspect suspect_;
  std::vector<Asked> asked_;
  std::size_t near_ = 0;  // the first so many are next to the suspect
  Time began_;
  Time next_;
  Time limit_;
  Time answered_{};
  bool calls_;
};

}  // namespace cairn::localize
