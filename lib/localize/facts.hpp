// The facts that rules can ask after: what is known of the symptoms, and what the probes have found. Each is a number.
// Of each kind of symptom there are three: NAME (how many, without duplicates), NAME.reporters (how many nodes
// reported it) and NAME.worst. A probe's facts are unknown until it is answered, or its time is up. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "localize/fault.hpp"

namespace cairn::localize {

enum class ProbeFact : std::uint8_t {
  response_answers,          // 1: its head answers; 0: it does not
  response_seconds,          // how long that took
  response_process_alive,    // 1 or 0, if a rank is suspected
  response_process_stopped,  // the same
  response_oom_kills,        // of one that is not alive: processes that the kernel ended for memory at about that time
  witness_reached,           // nodes that reach it
  witness_unreached,         // nodes that answer, but do not reach it
  witness_silent,            // nodes that were asked, and do not answer
  witness_near_silent,       // of those, the ones that are next to it
  state_bandwidth,           // share of the analyst's own
  state_load,                // runnable threads per processor
  state_stolen,              // share of the processors
  state_memory,              // share of the time in which threads wait for memory
  state_store_used,          // share; known after the end of a job only
  state_store_errors,        // share of the operations
  state_store_operations,    // how many are counted
  state_store_failed,        // how many of them failed
  state_store_since,         // seconds since the first of them failed
  state_store_room,          // how many snapshots of the node's ranks fit into what is free
  state_store_free,          // bytes
  state_store_refused,       // recent operations that found no room
  state_store_damaged,       // recent files that others refused, and that are damaged in its store
  state_network_errors,      // share of the packets, of the worst network card
  state_queue,               // seconds that messages wait for the head
  log_bad_peers,             // nodes that got wrong data from this one, though it is right in its store
  log_bad_share,             // share of the messages to them that were wrong
  log_blocks,                // seconds that others have waited for the rank, by the calls of all ranks; 0: none waits
  log_deadlock,              // seconds that ranks have waited for each other, the suspect among them; 0: they do not
  log_held,                  // share of the time in which a signal or a debugger had stopped the rank
  log_crowded,               // share of the time in which it waited for a processor, if its siblings wait far less
};
inline constexpr std::size_t kProbeFacts = 30;
inline constexpr std::size_t kFactsPerSymptom = 3;
inline constexpr std::size_t kFacts = kSymptomKinds * kFactsPerSymptom + kProbeFacts;

[[nodiscard]] constexpr std::size_t fact_of(ProbeFact fact) {
  return kSymptomKinds * kFactsPerSymptom + static_cast<std::size_t>(fact);
}
// Of which symptom the fact is; none: it is of a probe.
[[nodiscard]] std::optional<SymptomKind> symptom_of(std::size_t fact);
// Which probe finds the fact; none: it is of a symptom.
[[nodiscard]] std::optional<Probe> probe_of(std::size_t fact);
// "heartbeat_missed.reporters", "state.load"
[[nodiscard]] std::string fact_name(std::size_t fact);
[[nodiscard]] std::optional<std::size_t> fact_named(std::string_view name);

// The value of each fact that is known.
class FactTable {
 public:
  // Those of the symptoms; symptoms that nobody has reported have 0.
  explicit FactTable(std::span<const Observation> observations = {});
  void set(ProbeFact fact, double value) { values_.at(fact_of(fact)) = value; }
  void forget(Probe probe);
  [[nodiscard]] std::optional<double> get(std::size_t fact) const { return values_.at(fact); }
  [[nodiscard]] std::optional<double> get(ProbeFact fact) const { return get(fact_of(fact)); }
  // What the probes have found.
  [[nodiscard]] std::vector<Finding> findings() const;

 private:
  std::array<std::optional<double>, kFacts> values_{};
};

// Whichever of two measures is farther from what is healthy.
[[nodiscard]] double worse_measure(SymptomKind kind, double a, double b);

}  // namespace cairn::localize
