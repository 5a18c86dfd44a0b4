// The ranks' agreement on time, on the stop signal, on full message logs, on snapshots that heads ask for and on what
// snapshots cost: a small non-blocking reduction, started every P calls of snapshot() and waited for one call later, so
// that the wait is rare and short. All ranks get the same answer at the same call. P follows from what was agreed
// before.
//
// A rank that waits in restore or finalize takes part too. So if it has left out a snapshot, the others do not wait for
// it in theirs for ever: they get an error.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "comm/comm.hpp"
#include "schedule/rank_costs.hpp"

namespace cairn {

class Pulse {
 public:
  // `ranks`: the application ranks; the caller's. Elapsed time counts from here.
  Pulse(Comm& ranks, Clock clock);

  struct Beat {
    std::chrono::microseconds elapsed;      // the longest of all ranks
    bool stop;                              // some rank was warned
    RankCosts costs;                        // each the highest of all ranks
    bool log_fills = false;                 // some rank's message log will soon be full
    std::optional<LevelId> asked_for = {};  // a head wants a snapshot for this level; of several, the highest
    std::uint64_t logged = 0;  // what a rank has logged in all, in millionths of what its log can hold; the most
  };
  struct Mine {
    bool stop = false;
    bool log_fills = false;
    std::uint64_t logged = 0;
    std::optional<LevelId> asked_for = {};
    RankCosts costs;
  };
  // Whether call() would not wait, as far as is known by now.
  [[nodiscard]] Result<bool> ready();
  // One call of snapshot(): completes a reduction under way, and starts the next when its turn has come, with what
  // `mine()` then returns. Collective in time. Fails where another rank has called something else meanwhile.
  [[nodiscard]] Result<std::optional<Beat>> call(const std::function<Mine()>& mine);

  enum class At { restore, finalize };
  // To be called again and again by a rank that waits in restore or finalize, until it says that all ranks do: from
  // then on calls are counted anew. If some wait in restore and others in finalize, those in restore go on and those in
  // finalize keep waiting. Collective in time.
  [[nodiscard]] Result<bool> close(At place);

 private:
  // What each rank contributes; the highest of each word counts. In one of the first three it puts its own number plus
  // one.
  enum Word : std::size_t { kSnapshot, kRestore, kFinalize, kStop, kWords = kStop + 6 + 2 * kLevels };

  void start(Word place, const Mine& mine);
  [[nodiscard]] Beat beat() const;
  [[nodiscard]] std::optional<Error> find_other_call() const;

  Comm& ranks_;
  Clock clock_;
  std::chrono::microseconds start_;
  std::array<std::uint64_t, kWords> values_{};
  std::unique_ptr<Request> pending_;
  bool done_ = false;     // the pending one
  bool closing_ = false;  // the pending one was started by close()
  bool started_ = false;
  std::uint64_t calls_ = 0;    // since the last start
  std::uint64_t covered_ = 0;  // calls between the two starts before
  std::uint64_t period_ = 1;
  std::chrono::microseconds last_{0};
  std::uint64_t last_logged_ = 0;
};

// Closes a pulse during a call that also waits for something else. Without a pulse there is nothing to close.
class PulseClosing {
 public:
  PulseClosing(Pulse* pulse, Pulse::At place) : pulse_(pulse), place_(place) {}

  // Goes on with it; true once it is closed, or cannot be.
  bool go_on() {
    if (pulse_ == nullptr) return true;
    const auto closed = pulse_->close(place_);
    if (!closed || *closed) pulse_ = nullptr;
    return pulse_ == nullptr;
  }

 private:
  Pulse* pulse_;
  Pulse::At place_;
};

}  // namespace cairn
