// What seems wrong with a node or a rank, as one node has seen it, and the port that takes it. Any room may report
// symptoms. Fault localization (localize/) decides what they mean: one symptom proves nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/ids.hpp"

namespace cairn {

// In brackets: what Symptom::measure is.
enum class SymptomKind : std::uint8_t {
  heartbeat_missed,  // [how many in a row]
  no_response,       // a message or a transfer had no answer within its limit [seconds waited]
  crc_mismatch,      // a block arrived with another CRC [share of the blocks]
  low_bandwidth,     // far below the median of the siblings [share of the median]
  processor_stolen,  // the hypervisor, or another job, uses the processors [share]
  memory_pressure,   // threads wait for memory [share of the time]
  store_full,        // an operation found no room, or the next snapshot does not fit [1]
  store_error,       // reads or writes fail with EIO, or the store is read-only [share of the operations]
  process_failed,    // MPI, or the operating system, has reported that a process is dead [how many of the node]
  waited_for,        // another rank has been waiting for this rank [seconds]
  slow_rank,         // it computes for far longer than its siblings [times the median]
  process_stopped,   // a signal or a debugger has stopped the process [seconds]
  suspected,         // the application, an operator or a health script says so [1]
  network_error,     // network cards of the node report errors [share of the packets]
  deadlock,          // ranks wait for each other, by the MPI calls of all ranks [seconds]
};
inline constexpr std::size_t kSymptomKinds = 15;

// `rank` is set if one rank of the node is suspected, and not the node itself.
struct Suspect {
  NodeId node;
  std::optional<Rank> rank;
  friend auto operator<=>(const Suspect&, const Suspect&) = default;
};

struct Symptom {
  SymptomKind kind = SymptomKind::heartbeat_missed;
  Suspect suspect;
  NodeId reporter;
  std::chrono::microseconds time{};  // on the reporter's clock
  double measure = 0;
  std::string note = {};  // what somebody outside says, or the error of a store; plain text
  friend bool operator==(const Symptom&, const Symptom&) = default;
};

// A longer note is cut.
inline constexpr std::size_t kMostNoteBytes = 200;

// Takes symptoms. report() never blocks and never fails: a symptom may get lost.
class SymptomPort {
 public:
  virtual ~SymptomPort() = default;
  virtual void report(const Symptom& symptom) = 0;
  // This node has sent data to other nodes and received data from them, all at the same time.
  struct Transfer {
    NodeId other;
    std::uint64_t bytes = 0;
    double seconds = 0;
  };
  virtual void note_transfers(std::span<const Transfer> /*transfers*/) {}
  // Another node has got a file of this node's store.
  enum class Sent : std::uint8_t {
    whole,
    refused,  // it arrived damaged; this node has read it again, and it is whole here
    damaged,  // the same, but it is damaged here, too
  };
  virtual void note_sent(NodeId /*to*/, Sent /*how*/) {}

 protected:
  SymptomPort() = default;
  SymptomPort(const SymptomPort&) = default;
  SymptomPort& operator=(const SymptomPort&) = default;
};

}  // namespace cairn
