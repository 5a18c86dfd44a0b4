// Watches the processes of a node's ranks: which have ended, or have been stopped for long. Local. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "base/ids.hpp"
#include "base/process_state.hpp"
#include "base/symptom.hpp"
#include "localize/messages.hpp"

namespace cairn {

class ProcessWatch {
 public:
  using Time = std::chrono::microseconds;

  ProcessWatch(LookAtProcess look, CountOomKills count_oom_kills);

  // Before each look at all of them.
  void begin_look();
  // Looks at the process of a rank. Answers with what seems wrong, again and again, but not at each look. One that was
  // never seen alive is in another container, and not watched.
  struct Found {
    SymptomKind kind{};
    double measure = 0;
  };
  [[nodiscard]] std::optional<Found> look(Rank rank, std::int32_t process, Time now);
  void forget(Rank rank) { processes_.erase(rank); }

  // As it was at the last look; none: it is not watched.
  [[nodiscard]] std::optional<ProcessState> state(Rank rank) const;
  // For a probe. One that is not watched is taken to be alive.
  [[nodiscard]] localize::RankProcess probe(Rank rank) const;

 private:
  struct Process {
    ProcessState now;
    bool ended = false;
    std::optional<std::uint32_t> oom_kills = {};  // between the last look at it and the first that did not find it
    std::optional<Time> stopped_since = {};
    Time next_report{};
  };

  LookAtProcess look_;
  CountOomKills count_oom_kills_;
  std::optional<std::uint64_t> kills_before_, kills_;  // at the look before, and at this one
  std::map<Rank, Process> processes_;
};

}  // namespace cairn
