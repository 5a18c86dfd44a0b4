// A simulated cluster whose nodes fall ill, for tests of fault localization. Time is simulated, and all that happens
// follows from the seed.
//
// Each node has a head with a queue, ranks that exchange halos, processors, memory, a store, a link and a clock that is
// wrong. Heads send heartbeats and fetch data from each other. What they observe goes through the detectors of
// lib/localize, and the symptoms to its Localizer: nothing knows a fault's name except that which judges. Nodes are
// never quite healthy: messages get lost, heads pause, processors are stolen for a second, transfers are slow.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "localize/fault.hpp"
#include "localize/messages.hpp"

namespace cairn::test {

enum class Ailment : std::uint8_t {
  process_dead,
  rank_stuck,
  rank_slow,
  node_down,
  node_stolen,
  node_swapping,
  store_failing,
  store_full,
  link_degraded,
  partition,
  path_corrupts,
  head_overloaded,
  memory_flips,    // what the node sends is wrong now and then, whoever gets it: no probe tells why
  card_errors,     // the node's network card counts packets with errors
  store_corrupts,  // files of the node are damaged, whoever gets them
};
inline constexpr std::size_t kAilments = 15;
[[nodiscard]] std::string_view name_of(Ailment ailment);
[[nodiscard]] localize::Fault expected_fault(Ailment ailment);

enum class Trouble : std::uint8_t {
  none,
  lossy,               // messages get lost, arrive late and twice; those with symptoms most of all
  analyst_dead,        // the suspect's analyst has been dead for seconds
  analyst_overloaded,  // messages wait for it, so answers to its questions come late
  analyst_dies,        // while it analyses
  second_fault,        // another node has another fault
};
inline constexpr std::size_t kTroubles = 6;
[[nodiscard]] std::string_view name_of(Trouble trouble);

struct Sickness {
  Ailment ailment = Ailment::node_down;
  NodeId node;
  Rank rank;                  // of process_dead, rank_stuck and rank_slow
  NodeId other;               // of path_corrupts: the node that gets wrong data
  std::uint32_t cut_off = 0;  // of partition: so many nodes from `node` on
  localize::Time begins{};
};

struct SickCase {
  std::uint32_t nodes = 16;
  std::uint64_t seed = 1;
  std::optional<Ailment> ailment;  // none: only what passes by itself
  Trouble trouble = Trouble::none;
  localize::Time lasts = std::chrono::seconds(45);  // at most; it ends earlier once all is found
  localize::Settings settings;
};

struct Found {
  localize::Verdict verdict;
  localize::Time at{};               // simulated
  std::optional<std::size_t> which;  // place in Judgement::sicknesses; none: it is false
};

struct Judgement {
  std::vector<Sickness> sicknesses;
  std::vector<Found> found;  // all that a root has announced, also what was withdrawn later
  std::uint32_t detected = 0;
  std::uint32_t false_verdicts = 0;
  // Of the sickness that was asked for, in simulated seconds; none: not found.
  std::optional<double> from_threshold;
  std::optional<double> from_start;
  std::size_t most_kept = 0;  // by one Localizer
  std::uint64_t messages = 0;
};

[[nodiscard]] Judgement play(const SickCase& what);

// Precision and recall over several runs.
struct Accuracy {
  std::uint32_t expected = 0, detected = 0, false_verdicts = 0;
  std::vector<double> from_threshold, from_start;

  void add(const Judgement& judgement);
  void add(const Accuracy& other);
  [[nodiscard]] double precision() const;
  [[nodiscard]] double recall() const;
  [[nodiscard]] double median() const;  // from the threshold
  [[nodiscard]] double median_from_start() const;
};

}  // namespace cairn::test
