// What can be wrong, and what is known about it: plain values. words.hpp makes sentences of them. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/symptom.hpp"

namespace cairn::localize {

using Time = std::chrono::microseconds;

enum class Fault : std::uint8_t {
  process_dead,
  process_stopped,  // by a signal or a debugger
  rank_stuck,
  rank_slow,
  node_down,
  node_stolen,  // its processors work for others
  node_swapping,
  store_failing,
  store_full,
  store_corrupts,  // it returns other data than was written
  link_degraded,
  partition,      // of the network: the node is cut off together with others
  path_corrupts,  // between two nodes, data changes on the way
  head_overloaded,
  deadlock,      // ranks wait for each other, and none of them can continue by itself
  undetermined,  // no candidate was confirmed
};
inline constexpr std::size_t kFaults = 16;

// Whether the fault is that of a rank, and not of its node.
[[nodiscard]] constexpr bool is_of_rank(Fault fault) {
  return fault == Fault::process_dead || fault == Fault::process_stopped || fault == Fault::rank_stuck ||
         fault == Fault::rank_slow || fault == Fault::deadlock;
}

// What a message probe asks, the cheapest first.
enum class Probe : std::uint8_t {
  response,  // does its head answer, and is the process there?
  witness,   // can others reach it?
  state,     // bandwidth, processor, memory, disk
  log,       // its recent messages
};
inline constexpr std::size_t kProbes = 4;

// What is known of one kind of symptom from one reporter about one suspect.
struct Observation {
  SymptomKind kind = SymptomKind::heartbeat_missed;
  Suspect suspect;
  NodeId reporter;
  Time first{};  // on the clock of the node that analyses
  Time last{};
  Time reported{};  // the newest symptom's, on the reporter's clock
  std::uint32_t count = 0;
  double worst = 0;       // the measure that is farthest from what is healthy
  std::string note = {};  // the newest
  friend bool operator==(const Observation&, const Observation&) = default;
};

// Something that a rule can ask after: see facts.hpp.
struct Finding {
  std::size_t fact = 0;
  double value = 0;
  friend bool operator==(const Finding&, const Finding&) = default;
};

// A rank for which others wait, as the MPI calls of the job's ranks show it; or the first rank of a deadlock.
struct Blocker {
  enum class Doing : std::uint8_t {
    computes,  // or is in a call that is not recorded
    idles,     // the same, without using processor time
    in_call,
    polls,     // tests or probes again and again without success
    waits,     // for the next of `ranks`, which wait for each other in a circle
    differs,   // has entered a collective as another call, or with another root, than most
    left_out,  // has not made a call of Cairn that the others in its collective have made
  };
  Suspect suspect = {};
  Doing doing = Doing::computes;
  double seconds = 0;               // since when it does that
  std::string call = {};            // that it is in; outside of all calls: the last one; empty: it has made none
  std::string awaited = {};         // the call in which the others wait
  std::uint32_t waiting = 0;        // how many ranks wait for it
  double waited = 0;                // seconds, by the one of those that has waited longest
  bool likely = true;               // false: the records leave open whether they wait for it
  std::uint32_t unseen = 0;         // how many ranks of the job have no record here
  std::vector<NodeId> silent = {};  // nodes that have not answered when asked for the records of their ranks
  std::vector<Rank> ranks = {};     // of a deadlock: those that wait in a circle, in its order, or that differ
  [[nodiscard]] bool deadlock() const { return doing >= Doing::waits; }
  friend bool operator==(const Blocker&, const Blocker&) = default;
};
inline constexpr std::size_t kBlockerDoings = 7;

struct Verdict {
  Fault fault = Fault::undetermined;
  Suspect suspect;
  std::vector<NodeId> nodes;          // of a partition: all that are cut off; of a corrupt path: its other end
  NodeId analyst;                     // whose verdict it is
  Time threshold_at{};                // when its symptoms met the threshold; on the analyst's clock
  Time decided_at{};                  // on the analyst's clock
  bool withdrawn = false;             // it does not hold any longer, or never did
  std::vector<Observation> evidence;  // the symptoms
  std::vector<Finding> findings;      // what the probes found
  std::optional<Blocker> blocker;     // of a rank that is stuck, or a deadlock: what its calls show, if looked at
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// Whether both say the same of the same thing. Partitions are one thing.
[[nodiscard]] bool same_fault(const Verdict& a, const Verdict& b);

}  // namespace cairn::localize
