// Watches the processes of a node's ranks: which have ended, or have been stopped for long. Local. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
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
  // After a look at all of them: whether a rank is held back, or waits for a processor far longer than the others of
  // its node. Again and again, but not at each look.
  [[nodiscard]] std::optional<Found> look_at_pace(Rank rank, Time now);

  // As it was at the last look; none: it is not watched.
  [[nodiscard]] std::optional<ProcessState> state(Rank rank) const;
  // By the looks of the last seconds; none: it is not watched, or not for long enough.
  [[nodiscard]] std::optional<localize::RankPace> pace(Rank rank) const;
  // Processor time that all of them have used, in clock ticks; none: one of them has ended or is not watched.
  [[nodiscard]] std::optional<std::uint64_t> ticks(std::size_t ranks) const;
  // For a probe. One that is not watched is taken to be alive.
  [[nodiscard]] localize::RankProcess probe(Rank rank) const;

 private:
  struct Process {
    ProcessState now;
    bool ended = false;
    std::optional<std::uint32_t> oom_kills = {};  // between the last look at it and the first that did not find it
    std::optional<Time> stopped_since = {};
    Time next_report{};
    Time next_pace{};
    struct Look {
      Time at{};
      std::chrono::nanoseconds waited{};
      bool held = false;  // it has been stopped for a moment: not for good
    };
    std::deque<Look> looks = {};  // the last ones, while it is alive
  };
  static std::optional<double> crowding_of(const Process& process);

  LookAtProcess look_;
  CountOomKills count_oom_kills_;
  std::optional<std::uint64_t> kills_before_, kills_;  // at the look before, and at this one
  std::map<Rank, Process> processes_;
};

}  // namespace cairn
