// What each rank notes of itself while ckpt-run rehearses failures: its calls of the session, and what was under way
// when it called snapshot(). Each rank has a file in the directory of session/rehearsal, and writes a line when a call
// begins. So the notes of a rank that ends early are there, too.
//
// Local.
#pragma once

#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace cairn {

// A call of snapshot(), as it begins on a rank.
struct NotedSafePoint {
  std::uint64_t pending = 0;                // requests of MPI that are active
  std::string call;                         // that one of them is from: "MPI_Irecv"; empty: none is pending
  bool counted = true;                      // whether the two numbers below are known
  std::uint64_t received = 0;               // messages that this rank has begun to receive, since the session opened
  std::map<Rank, std::uint64_t> sent = {};  // that it has begun to send, by receiver
  friend bool operator==(const NotedSafePoint&, const NotedSafePoint&) = default;
};

struct RankNotes {
  Rank rank;
  std::vector<NotedSafePoint> safe_points = {};  // by call of snapshot()
  std::optional<std::uint64_t> restored_after =
      {};                                     // calls of snapshot() before the first restore(); none: no restore()
  std::vector<std::string> late = {};         // regions in snapshots that were protected after restore()
  bool finalized = false;                     // it has called finalize()
  std::chrono::milliseconds longest_quiet{};  // between two calls of MPI or of the session, until finalize()
  friend bool operator==(const RankNotes&, const RankNotes&) = default;
};

// Inverse pair: writes the notes of a rank, and reads those of all ranks, in their order.
class RehearsalWriter {
 public:
  // Replaces those of an earlier life.
  RehearsalWriter(const std::string& directory, Rank rank);
  void restores();
  void is_late(const std::string& region);
  void comes_to(const NotedSafePoint& safe_point);
  void finalizes(std::chrono::milliseconds longest_quiet);

 private:
  std::ofstream file_;
};
[[nodiscard]] std::vector<RankNotes> read_rehearsal(const std::string& directory);

}  // namespace cairn
