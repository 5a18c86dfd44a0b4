// What a node does as a witness: other nodes ask it whether it reaches a suspect. It probes the suspect, and answers.
// Bounded: of too many errands, the newest are refused. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "localize/messages.hpp"
#include "localize/probe_round.hpp"

namespace cairn::localize {

class Errands {
 public:
  // Keeps references to all but `self`. `numbers`: that of the next message of this node.
  Errands(NodeId self, const Settings& settings, Port& port, std::uint64_t& numbers)
      : self_(self), settings_(settings), port_(port), numbers_(numbers) {}

  // Requires: the question is a witness's. A repeated question begins no other probe.
  void ask(NodeId asker, const Question& question, Time now);
  // Whether the answer belongs to one of the probes.
  bool take(NodeId from, const Answer& answer, Time now);
  void turn(Time now);
  [[nodiscard]] bool empty() const { return errands_.empty(); }

 private:
  struct Errand {
    NodeId asker;
    std::uint64_t asked = 0;  // the asker's number
    ProbeRound round;
    std::optional<bool> reached;  // kept for a while: the answer may get lost
    Time until{};
  };
  void answer(const Errand& errand);

  NodeId self_;
  const Settings& settings_;
  Port& port_;
  std::uint64_t& numbers_;
  std::vector<Errand> errands_;
};

}  // namespace cairn::localize
