// Says when a level is due. Levels counted in calls of snapshot() are decided by each rank for itself: the same
// call number gives the same answer everywhere. Levels in time are decided from an elapsed time that all ranks
// agreed on; the caller passes it, so no clock is read here. Pure.
//
// A level that is off, or that the topology cannot carry, is never due. When a level above L1 is due a snapshot is
// taken, whether L1 is due or not: it is where every promotion starts from.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "config/config.hpp"

namespace cairn {

class Schedule {
 public:
  // Starts after call number `start_call` at the agreed time `now`, both as they are at the start or the last restore.
  Schedule(const Config::Levels& levels, LevelSet usable, std::uint64_t start_call = 0,
           std::chrono::microseconds now = std::chrono::microseconds{0});

  // Levels counted in calls that are due at this call: those whose N divides its number.
  [[nodiscard]] LevelSet due(std::uint64_t call_number) const;

  // Levels in time whose next time has come at the agreed time `now`; each is next due at the first multiple of its
  // interval after `now`, counted from the start. A level that is late by several intervals is due once.
  [[nodiscard]] LevelSet due_by_time(std::chrono::microseconds now);

  // The next call takes a snapshot for these levels, whatever else is due.
  void require_next(LevelSet levels) { required_ = levels; }

  // What is due at a call, with what is required, and with the first snapshot of a fresh start also the lowest level
  // above L1 that is on, unless it counts calls: until then, the loss of a node would lose everything.
  [[nodiscard]] LevelSet with_first(LevelSet due);

  // Whether there are levels in time, and so a clock to agree on.
  [[nodiscard]] bool timed() const { return !timed_.empty(); }

 private:
  struct Counted {
    LevelId level;
    std::uint64_t calls;
  };
  struct Timed {
    LevelId level;
    std::chrono::microseconds interval;
    std::chrono::microseconds next;
  };
  LevelSet first_;     // empty once it is due
  LevelSet required_;  // by the next call
  std::uint64_t start_call_;
  std::chrono::microseconds start_;
  std::vector<Counted> counted_;
  std::vector<Timed> timed_;
};

// How often the ranks agree on the time: after how many calls of snapshot() the next reduction starts. `calls` took
// `elapsed` under the present period; all three must be the same on all ranks. Aims at a reduction each
// 100 ms; the period at most doubles at once, within 1 … 64. Steps may become long after many short ones, and a stop
// signal must not wait for a thousand of them; a reduction each 64 calls is cheap even where a call takes 100 µs.
struct PulsePeriod {
  static constexpr std::uint64_t kLeast = 1;
  static constexpr std::uint64_t kMost = 64;
  static constexpr std::chrono::microseconds kAim = std::chrono::milliseconds{100};

  [[nodiscard]] static std::uint64_t next_period(std::uint64_t calls, std::chrono::microseconds elapsed,
                                                 std::uint64_t present);
  // The longest period in which a message log fills by no more than a sixteenth, so that its ranks agree on a snapshot
  // in time. `logged`: during `calls`, in millionths of what the log can hold.
  [[nodiscard]] static std::uint64_t most_for_log(std::uint64_t calls, std::uint64_t logged);
};

}  // namespace cairn
