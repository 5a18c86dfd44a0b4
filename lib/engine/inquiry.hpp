// Finds out which ranks the others wait for. A rank that has waited long in a Cairn call tells its head. Head 0 then
// asks all heads, and they ask their ranks, who is in such a call by now: the others wait for those that do not answer.
// One line of the log names them, and the waiting ranks are told, for their errors. So the user of a program with one
// rank in a loop, or in another call, learns which rank it is.
//
// All of that happens at most once a minute, and costs two messages for each head. A head that is a rank and is
// computing does not answer; that shows that it is not in a Cairn call.
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
  static constexpr std::chrono::seconds kForHeadZero{6};  // that a head gives head 0, before it reports by itself
  static constexpr std::chrono::seconds kBetweenTwo{60};

  // How an inquiry sends and logs. It must stay usable as long as the inquiry.
  struct Ways {
    std::function<void(NodeId, const ToHead&)> to_head;  // of another node
    std::function<void(Rank, const ToRank&)> to_rank;    // of this node
    std::function<std::string()> heads_do;               // what this head is busy with; empty: nothing
    std::function<void(const std::string&)> log;
    bool records_calls = false;  // so that ckpt-tool hang can show the MPI calls of ranks
  };
  Inquiry(const Topology& topology, NodeId me, Ways ways) : topology_(topology), me_(me), ways_(std::move(ways)) {}

  using Time = std::chrono::microseconds;  // of the engine's clock
  void receive(Rank from, const Waits& waits, Time now);
  void receive(NodeId from, const Inquire& question, Time now);
  void receive(const Ask& ask, Time now);
  void receive(NodeId from, const NotHere& answer);
  void receive(const Missing& missing);
  // Does what is due at this time.
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
