// An application rank whose messages are logged, so that after a failure only the lost ranks roll back ([recovery]
// rollback = lost). This is what a session and its repairs need of it; logged/journaled_rank is one.
//
// It outlives repairs: a session lets it join one world after another. It knows neither regions nor snapshots; the
// session tells it what they come to.
//
// One thread. Calls between leaves() and joins() are those that need no other rank.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cairn/lost_part.hpp>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/log.hpp"
#include "base/trace.hpp"
#include "comm/comm.hpp"
#include "config/config.hpp"
#include "rollback/obstacle.hpp"
#include "rollback/phase.hpp"
#include "store/store.hpp"

namespace cairn::replay {
class DeadlockCheck;
class Journal;
struct Repeated;
}  // namespace cairn::replay

namespace cairn::rollback {

// How spares can recompute the steps of this rank.
struct OnLoss {
  SplitState split;
  MergeState merge;
};

// The newest version of each level.
using Versions = std::array<Version, kMostLevels + 1>;

class LoggedRank {
 public:
  struct Setting {
    Rank rank;
    Config::Replay replay;
    std::chrono::milliseconds limit;  // [recovery] limit
    Log log;
  };
  LoggedRank() = default;
  LoggedRank(const LoggedRank&) = delete;
  LoggedRank& operator=(const LoggedRank&) = delete;
  virtual ~LoggedRank() = default;

  // What a session's connection to its job gives. All of it must last until leaves().
  struct World {
    Comm& ranks;  // the application ranks
    std::shared_ptr<Store> local;
    Trace trace;
  };
  // Inverse pair.
  virtual void joins(World world) = 0;
  virtual void leaves() = 0;

  // For who carries its messages.
  [[nodiscard]] virtual replay::Journal& journal() = 0;
  [[nodiscard]] virtual replay::DeadlockCheck& deadlocks() = 0;
  virtual void on_loss(OnLoss on_loss) = 0;

  // Whether it is a replacement that has not left restore(); that computes again what the lost rank had computed.
  [[nodiscard]] virtual bool replaces() const = 0;
  [[nodiscard]] virtual bool catches_up() const = 0;
  // Whether its application does what the lost rank's has done: from restore() on, until it has caught up.
  [[nodiscard]] virtual bool computes_again() const = 0;
  // Whether sums over all ranks have to be compared, since ranks have rolled back alone. The same on all ranks.
  [[nodiscard]] virtual bool is_unchecked() const = 0;
  // Why a failure would make all ranks roll back; nothing: this rank can continue its call.
  [[nodiscard]] virtual std::optional<Obstacle> why_all_roll_back() const = 0;
  [[nodiscard]] virtual Rank number() const = 0;
  [[nodiscard]] RankState state() const {
    return {replaces() ? Origin::replacement : Origin::first, catches_up(), is_unchecked()};
  }

  // The application does what is not replayed; `what`: as in "rank 3 calls wait()", without the rank.
  virtual void obstruct(const std::string& what, Until until) = 0;
  // The job is to end: all ranks stop together.
  virtual void note_stop_signal() = 0;
  // All ranks roll back, since this one does what it cannot do otherwise; `what`: as above. An error, or an exception.
  [[nodiscard]] virtual Status rolls_back(const std::string& what) = 0;
  // After an error of a call: repairs the job if a process has died. True: this rank repeats the call.
  [[nodiscard]] virtual bool stays_after(const Error& error) = 0;

  // `call` begins to wait for other ranks, which may never come if a replacement has exchanged other messages than the
  // dead rank. What this returns is to be called again and again: it says so, or nothing while it may wait on.
  using Patience = std::function<std::optional<std::string>()>;
  [[nodiscard]] virtual Patience begin_patience(const std::string& call) = 0;
  // Waits for other ranks with such patience. `wait`: waits until what it gets is true. Requires: is_unchecked().
  using Wait = std::function<Status(const std::function<bool()>& is_over)>;
  [[nodiscard]] virtual Status wait_patiently(const std::function<bool()>& done, const std::string& call,
                                              const Wait& wait) = 0;
  // Compares the sums. communication: they differ, so all ranks roll back. Requires: is_unchecked(). Collective.
  [[nodiscard]] virtual Status check_messages(const Wait& wait) = 0;

  // Whether some rank had begun this snapshot() call before a failure; and what it answers then.
  [[nodiscard]] virtual bool is_past(std::uint64_t call) const = 0;
  [[nodiscard]] virtual std::optional<Version> answer_of(std::uint64_t call) const = 0;
  // A snapshot() call begins. `reached`: the newest snapshot at each level, which may make a part of the log void.
  virtual void enters(std::uint64_t call, const std::function<Version(LevelId)>& reached) = 0;
  // That call takes a snapshot of this version.
  virtual void takes(std::uint64_t call, Version version) = 0;
  // How much its log has grown: whether a snapshot is needed before it is full, and what was logged since restore(), in
  // millionths of its room. To be called at each snapshot().
  struct LogGrowth {
    bool fills = false;
    std::uint64_t logged_millionths = 0;
  };
  [[nodiscard]] virtual LogGrowth note_log_growth() = 0;
  // A snapshot is taken at `level`, because a log will soon be full.
  virtual void note_full_log(LevelId level) = 0;

  // What was meant for each level, and was under way in a failure after which this rank stays, may never get there.
  virtual void drops(const Versions& meant, const std::function<Version(LevelId)>& reached) = 0;
  [[nodiscard]] virtual bool is_dropped(LevelId level, Version meant, Version reached) const = 0;

  // Survivors ship to each replacement what the dead rank exchanged before restore(). Collective.
  [[nodiscard]] virtual Status settle_prologue() = 0;
  // All ranks have restored together, and begin new logs at this snapshot() call. Collective.
  [[nodiscard]] virtual Status begins(std::uint64_t call) = 0;
  struct Settled {
    std::uint64_t newest = 0;  // snapshot() calls that the rank which has made most has begun
    Version last_version;      // the highest that a rank has used
  };
  // A survivor ships to replacements, which have restored a snapshot of the call `epoch`, what they need. `calls`: of
  // snapshot() that it has begun; `last`: the highest version that it has used. Collective: a replacement takes over.
  [[nodiscard]] virtual Result<Settled> settle(std::uint64_t epoch, std::uint64_t calls, Version last) = 0;
  // Then: what it has to send again. For who carries its messages; empty the second time.
  [[nodiscard]] virtual std::vector<replay::Repeated> take_repeated() = 0;
  // A replacement has restored: takes what survivors ship, and catches up from now on. `completed`: whether it has its
  // objects and files. communication: not all can continue. Collective.
  [[nodiscard]] virtual Result<Settled> takes_over(std::uint64_t epoch, Version last, const Status& completed) = 0;
  // Steps of a replacement are recomputed together with spares, if there are some. Returns the snapshot() calls that
  // have been made then; nothing: it computes alone.
  [[nodiscard]] virtual std::optional<std::uint64_t> recompute() = 0;
  // All ranks have finished.
  virtual void ends() = 0;
};

}  // namespace cairn::rollback
