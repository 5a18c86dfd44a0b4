// Heartbeats among heads: each sends a short message to its analyst and to the next node, and expects those of the
// nodes that do the same with it. Which these are follows from the tree alone. Pure: the owner sends, and reports what
// arrives.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.hpp"
#include "localize/detect.hpp"
#include "localize/tree.hpp"

namespace cairn {

class Heartbeats {
 public:
  using Time = std::chrono::microseconds;

  // So many make up the time after which a node counts as silent.
  static constexpr std::uint32_t kMissed = 15;

  // `silent_after`: more than 0.
  Heartbeats(NodeId self, const localize::Tree& tree, Time silent_after);

  // To whom this node sends.
  [[nodiscard]] const std::vector<NodeId>& watchers() const { return watchers_; }
  // Whether it is time to send.
  [[nodiscard]] bool due(Time now);
  // A message of any kind has come from the node.
  void heard(NodeId from, Time now);
  // The node sends no more: its ranks have ended their sessions.
  void left(NodeId node) { watched_.erase(node); }
  // Nodes that are silent, with how many of their heartbeats were missed in a row: again and again, but not at each
  // look. To be called after all messages that have arrived were reported. Times before the first look do not count.
  struct Silent {
    NodeId node;
    double missed = 0;
  };
  [[nodiscard]] std::vector<Silent> look(Time now);

 private:
  struct Watched {
    Time heard{};
    Time next_report{};
  };
  std::vector<NodeId> watchers_;
  std::map<NodeId, Watched> watched_;
  localize::DetectorLimits limits_;
  Time next_{};
  bool looked_ = false;
};

}  // namespace cairn
