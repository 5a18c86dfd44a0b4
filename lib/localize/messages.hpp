// What the nodes of a tree send each other, the port that carries it, and what a node knows about itself. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "localize/fault.hpp"
#include "localize/tree.hpp"

namespace cairn::localize {

// Symptoms about one node, for the node that analyses it. Times are ages at the moment of sending, since clocks differ.
struct EvidenceNote {
  std::vector<Observation> observations;
  std::vector<NodeId> mute;  // nearer ones that do not answer
  std::uint32_t hops = 0;
};
// A verdict for the root.
struct VerdictNote {
  Verdict verdict;
  std::vector<NodeId> mute;  // that should have got it, and do not answer
};
// Answers a note.
struct Receipt {
  std::uint64_t note = 0;
};
struct Question {
  std::uint64_t number = 0;
  Probe probe = Probe::response;
  Suspect suspect;
  bool calls = false;  // of the log probe: the MPI calls of the node's ranks are asked for, too
};

// What the head of a node knows about it.
struct NodeState {
  double bandwidth = 0;     // bytes per second, the median of its transfers; 0: there were none
  double load = 0;          // runnable threads per processor
  double stolen = 0;        // share
  double memory = 0;        // share of the time in which threads wait for memory
  double store_errors = 0;  // share of the recent operations
  double queue = 0;         // seconds that messages wait for the head
  double store_operations = 0;
  double store_failed = 0;
  double store_since = 0;     // seconds since the first of them failed
  double store_room = -1;     // how many snapshots of the node's ranks fit into what is free; below 0: not known
  double store_free = -1;     // bytes; below 0: not known
  double store_refused = 0;   // recent operations that found no room
  double network_errors = 0;  // share of the packets, of the worst network card
  double store_damaged = 0;   // recent files that others have refused, and that were damaged when read again
};
struct RankProcess {
  bool alive = true;
  bool stopped = false;  // by a signal or a debugger
  // Of one that is not alive: how many processes of its host the kernel's out-of-memory killer has ended between the
  // last look at it and the first that did not find it; none: not known.
  std::optional<std::uint32_t> oom_kills = {};
};
// Of a rank's process, by the last looks at it.
struct RankPace {
  double held = 0;     // share of the time in which a signal or a debugger had stopped it
  double crowded = 0;  // share of the time in which it waited for a processor, if that is far more than its siblings do
};
struct NodeLog {
  std::optional<RankPace> pace = {};  // of the rank that was asked about; none: its process is not watched
  std::uint32_t bad_peers = 0;        // that got wrong data, though it is right here
  double bad_share = 0;               // of the messages to them
  Buffer calls = {};                  // of the node's ranks, if asked for: see Host::calls()
};
// What nodes have answered that were asked for the calls of their ranks.
struct CallReports {
  std::map<NodeId, Buffer> calls;
  std::vector<NodeId> silent;  // no answer
};
struct ResponseAnswer {
  std::optional<RankProcess> process;  // of the rank that was asked about
};
struct WitnessAnswer {
  bool reached = false;
};
struct Answer {
  std::uint64_t number = 0;
  std::variant<ResponseAnswer, WitnessAnswer, NodeState, NodeLog> what;
};
// From the root to all: a node is dead, or is not.
struct Bulletin {
  NodeId node;
  bool dead = true;
};

struct Message {
  NodeId from;
  std::uint64_t number = 0;  // of the sender
  std::variant<EvidenceNote, VerdictNote, Receipt, Question, Answer, Bulletin> body;
};

// Carries messages. They may get lost, arrive twice, late and in any order.
class Port {
 public:
  virtual ~Port() = default;
  // Never blocks.
  virtual void send(NodeId to, const Message& message) = 0;
  // At the root: a verdict is new, has changed, or was withdrawn.
  virtual void announce(const Verdict& verdict) = 0;
  // At the root: a verdict that stands was found again, with other figures. The user is not told.
  virtual void renew(const Verdict& /*verdict*/) {}
  // At an analyst, for a trace.
  virtual void analysis_begins(NodeId /*suspect*/) {}
  virtual void analysis_ends(NodeId /*suspect*/) {}

 protected:
  Port() = default;
  Port(const Port&) = default;
  Port& operator=(const Port&) = default;
};

// What probes ask a node.
class Host {
 public:
  virtual ~Host() = default;
  [[nodiscard]] virtual RankProcess process(Rank rank) const = 0;
  [[nodiscard]] virtual NodeState state() const = 0;
  [[nodiscard]] virtual NodeLog log(std::optional<Rank> rank) const = 0;
  // The MPI calls of the node's ranks, in a form that blockers() of other nodes reads; empty: they are not recorded.
  [[nodiscard]] virtual Buffer calls() const { return {}; }
  // The ranks for which others have waited for long.
  [[nodiscard]] virtual std::vector<Blocker> blockers(const CallReports& /*reports*/) const { return {}; }

 protected:
  Host() = default;
  Host(const Host&) = default;
  Host& operator=(const Host&) = default;
};

struct Settings {
  std::uint32_t fanout = kDefaultFanout;
  double threshold = kDefaultThreshold;
  Time window = std::chrono::seconds(5);
  Time receipt_limit = std::chrono::milliseconds(200);  // for one try
  std::uint32_t tries = 3;                              // before another node is chosen
  Time response_limit = std::chrono::milliseconds(600);
  Time errand_limit = std::chrono::milliseconds(400);   // how long a witness waits for a response
  Time witness_limit = std::chrono::milliseconds(700);  // longer than that: the witness has to answer, too
  Time answer_limit = std::chrono::milliseconds(600);   // of the other probes
  Time ask_again = std::chrono::milliseconds(100);
  std::uint32_t witnesses = 8;
  Time silence = std::chrono::milliseconds(400);  // after which a node that has taken evidence counts as mute
  Time mute = std::chrono::seconds(10);           // how long a node that does not answer is not asked again
  Time recheck = std::chrono::seconds(30);        // how often a verdict is confirmed again
  Time recheck_undetermined = std::chrono::seconds(5);
  Time suspicion_lasts = std::chrono::minutes(10);  // a report from outside for which no probe has found a reason
  bool asks_for_calls = false;  // whether the log probe about a rank asks all nodes for the calls of their ranks
  Time survey_again = std::chrono::seconds(10);  // how long after a survey there is no other
  // Times the place in the tree: how long a node leaves it to others to ask. Longer than a turn.
  Time survey_stagger = std::chrono::milliseconds(60);
};

}  // namespace cairn::localize
