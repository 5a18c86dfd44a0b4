// For whom ranks wait. A rank that has waited for long in a Cairn call says so to its head, and head 0 then asks all
// heads, and they their ranks, who is in such a call by now: those who do not answer are the ones that the others wait
// for. One line of the log names them, and the ranks that wait are told, for their errors. A program that has one rank
// in a loop, or in a call of its own, so learns which.
//
// All of that happens once a minute at most, and costs two messages a head. Where a head is a rank that computes, it
// answers nothing; that is an answer too.
//
// One thread, local: sends, and does not wait.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "engine/messages.hpp"
#include "topology/topology.hpp"

namespace cairn {

class Inquiry {
 public:
  static constexpr std::chrono::seconds kForRanks{1};     // that a head gives its ranks to answer
  static constexpr std::chrono::seconds kForHeads{3};     // that head 0 gives the heads
  static constexpr std::chrono::seconds kForHeadZero{6};  // that a head gives head 0, before it speaks itself
  static constexpr std::chrono::seconds kBetweenTwo{60};

  // What an inquiry acts through; all of it stays usable as long as the inquiry.
  struct Ways {
    std::function<void(NodeId, const ToHead&)> to_head;  // of another node
    std::function<void(Rank, const ToRank&)> to_rank;    // of this node
    std::function<std::string()> heads_do;               // what heads are busy with; empty: nothing
    std::function<void(const std::string&)> log;
  };
  Inquiry(const Topology& topology, NodeId me, Ways ways) : topology_(topology), me_(me), ways_(std::move(ways)) {}

  using Time = std::chrono::microseconds;  // of the engine's clock
  void hear(Rank from, const Waits& waits, Time now);
  void hear(NodeId from, const Inquire& question, Time now);
  void hear(const Ask& ask, Time now);
  void hear(NodeId from, const NotHere& answer);
  void hear(const Missing& missing);
  // Does what its time has come for.
  void look(Time now);

 private:
  [[nodiscard]] const std::vector<Rank>& ranks() const { return topology_.nodes[me_.value].ranks; }
  [[nodiscard]] std::vector<std::uint32_t> not_here() const;
  void answer();
  void conclude(Time now);
  [[nodiscard]] std::string for_whom() const;

  const Topology& topology_;
  NodeId me_;
  Ways ways_;
  // As the head of a node.
  std::optional<Time> asked_;         // and not yet answered
  std::set<Rank> here_;               // those who have said so since
  std::optional<Inquire> forwarded_;  // to head 0, which has not reacted yet
  Time forwarded_at_{0};
  // As head 0, or in its place.
  std::optional<Inquire> question_;
  Time begun_{0};
  std::map<NodeId, std::vector<std::uint32_t>> answers_;
  struct Conclusion {
    Time at;
    Missing missing;
  };
  std::optional<Conclusion> concluded_;
};

}  // namespace cairn
