// Asks all nodes for the MPI calls of their ranks, because a rank of this node has been waiting for long. Where
// thousands wait for one, their nodes want to ask at the same time: the one nearest to the root does, and those that it
// asks do not ask themselves. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "localize/messages.hpp"
#include "localize/probe_round.hpp"
#include "localize/tree.hpp"

namespace cairn::localize {

class Survey {
 public:
  // Keeps references to all but `self`. `numbers`: that of the next message of this node.
  Survey(NodeId self, const Tree& tree, const Settings& settings, Port& port, std::uint64_t& numbers)
      : self_(self), tree_(tree), settings_(settings), port_(port), numbers_(numbers) {}

  // Begins one when it is this node's turn to ask.
  void want(Time now);
  // Another node asks.
  void note(Time now) {
    begins_.reset();
    quiet_until_ = now + settings_.survey_again;
  }
  // Whether the answer belongs to it.
  bool take(NodeId from, const Answer& answer, Time now);
  // What was answered, once, when all nodes have or their time is up.
  [[nodiscard]] std::optional<CallReports> turn(Time now);
  [[nodiscard]] bool idle() const { return !round_ && !begins_; }

 private:
  NodeId self_;
  const Tree& tree_;
  const Settings& settings_;
  Port& port_;
  std::uint64_t& numbers_;
  std::optional<Time> begins_;
  Time quiet_until_{};
  std::optional<ProbeRound> round_;
};

}  // namespace cairn::localize
