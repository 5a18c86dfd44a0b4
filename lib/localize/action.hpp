// What follows from a verdict, apart from the log. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "localize/fault.hpp"

namespace cairn::localize {

// How far Cairn acts on verdicts. Each step includes those before.
enum class Act : std::uint8_t {
  tell,      // the log and health.json
  snapshot,  // all ranks take a snapshot while the node can still take part in it
  avoid,     // the node gets nothing more that other nodes must not lose
  replace,   // ckpt-run starts the next run on a spare host instead
};

// Whether the node may soon be lost, with all that it holds, and can still take part in a snapshot. Not so where it is
// too late, or where only the rank's own progress is in danger.
[[nodiscard]] bool calls_for_snapshot(const Verdict& verdict);

// Whether it is unwise to keep anything of other nodes on the node, in runs to come too.
[[nodiscard]] bool calls_for_avoiding(const Verdict& verdict);

// Whether what the node keeps may soon be lost, or is out of reach.
[[nodiscard]] bool endangers_node(const Verdict& verdict);

// Whether the job may have to be started again, on the same nodes.
[[nodiscard]] bool may_end_job(const Verdict& verdict);

// Whether the next run should be on another node, if there is one: only after a probe has confirmed what is wrong.
[[nodiscard]] bool calls_for_replacing(const Verdict& verdict);

// Decides when all ranks take a snapshot because of verdicts: once for each verdict, and not more often than the limit.
// A verdict that is withdrawn before its turn needs none. Used by the head that announces verdicts.
class SnapshotCalls {
 public:
  static constexpr Time kLeastInterval = std::chrono::minutes(10);

  // A verdict is new, has changed, or was withdrawn.
  void take(const Verdict& verdict);
  // Whether it is time for a snapshot. Answers once, with the nodes that are in danger by then, ascending.
  [[nodiscard]] std::optional<std::vector<NodeId>> due(Time now);

 private:
  struct Danger {
    Verdict verdict;
    bool answered = false;
  };
  std::vector<Danger> dangers_;  // that have not been withdrawn
  std::optional<Time> last_;
};

}  // namespace cairn::localize
