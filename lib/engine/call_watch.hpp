// Watches what the ranks of a node say to MPI, by the files in which they record it (format/call_record): whether one
// has been waiting for long, and, when asked, what lib/hang needs to know of all of them.
//
// A look reads a few KiB of a file. A rank that keeps no file is not watched. Local. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "base/process_state.hpp"
#include "hang/hang.hpp"
#include "hang/rank_calls.hpp"
#include "store/store.hpp"

namespace cairn {

class CallWatch {
 public:
  // The node's own store. Its operations are not those of a snapshot: who counts these passes another one.
  explicit CallWatch(std::shared_ptr<const Store> store) : store_(std::move(store)) {}

  // To be called every second. `process`: as it is now; none: not known. A rank that has removed its file is forgotten.
  void look(Rank rank, const std::optional<ProcessState>& process);
  // Whether any rank records its calls.
  [[nodiscard]] bool any() const { return !seen_.empty(); }
  // Since when each rank that waits for others has been in one call, on the records' clock.
  [[nodiscard]] std::vector<std::int64_t> waits() const;
  // Compared with the look before the last one. `now`: on the records' clock.
  [[nodiscard]] std::vector<hang::RankReading> readings(std::int64_t now) const;

 private:
  struct Look {
    hang::Moment moment;
    std::optional<ProcessState> process;
  };
  struct Seen {
    Look last;
    std::optional<Look> before;
    std::optional<std::int64_t> waits_since;
  };

  std::shared_ptr<const Store> store_;
  std::unique_ptr<CallFile> scratch_;  // made by the first look: half a megabyte
  std::map<Rank, Seen> seen_;
};

}  // namespace cairn
