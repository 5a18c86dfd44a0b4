// An application rank whose messages are logged, so that after a failure only the lost ranks roll back ([recovery]
// rollback = lost). It has the rank's journal and all that belongs to it: the record of its choices, the files of its
// log, the check for deadlocks, and what it was before a failure.
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
#include "replay/deadlock_check.hpp"
#include "replay/journal.hpp"
#include "replay/long_wait.hpp"
#include "rollback/choice_record.hpp"
#include "rollback/phase.hpp"
#include "rollback/repairs.hpp"
#include "store/store.hpp"

namespace cairn::rollback {

using Until = replay::Journal::Until;

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
  // `repairs` must outlive this object.
  LoggedRank(Setting setting, Repairs& repairs);
  LoggedRank(const LoggedRank&) = delete;
  LoggedRank& operator=(const LoggedRank&) = delete;
  ~LoggedRank() { leaves(); }

  // What a session's connection to its job gives. All of it must last until leaves().
  struct World {
    Comm& ranks;  // the application ranks
    std::shared_ptr<Store> local;
    Trace trace;
  };
  // Inverse pair.
  void joins(World world);
  void leaves();

  [[nodiscard]] replay::Journal& journal() { return journal_; }
  [[nodiscard]] replay::DeadlockCheck& deadlocks() { return deadlocks_; }
  void on_loss(OnLoss on_loss) { on_loss_ = std::move(on_loss); }

  // Whether it is a replacement that has not left restore(); that computes again what the lost rank had computed.
  [[nodiscard]] bool replaces() const { return journal_.is_replacement(); }
  [[nodiscard]] bool catches_up() const { return journal_.catches_up(); }
  // Whether sums over all ranks have to be compared, since ranks have rolled back alone. The same on all ranks.
  [[nodiscard]] bool is_unchecked() const { return journal_.unchecked_since().has_value(); }
  // Why a failure would make all ranks roll back; nothing: this rank can continue its call.
  [[nodiscard]] std::optional<Obstacle> why_all_roll_back() const;
  [[nodiscard]] Rank number() const { return setting_.rank; }
  [[nodiscard]] RankState state() const {
    return {replaces() ? Origin::replacement : Origin::first, catches_up(), is_unchecked()};
  }

  // The application does what is not replayed; `what`: as in "rank 3 calls wait()", without the rank.
  void obstruct(const std::string& what, Until until);
  // The job is to end: all ranks stop together.
  void note_stop_signal();
  // All ranks roll back, since this one does what it cannot do otherwise; `what`: as above. An error, or an exception.
  [[nodiscard]] Status rolls_back(const std::string& what);
  // After an error of a call: repairs the job if a process has died. True: this rank repeats the call.
  [[nodiscard]] bool stays_after(const Error& error);

  // A call begins to wait for other ranks.
  [[nodiscard]] replay::LongWait begin_wait() { return {journal_, deadlocks_, setting_.limit}; }
  // Waits for other ranks, which may never come if a replacement has exchanged other messages than the dead rank.
  // `wait`: waits until what it gets is true. `call`: that waits. Requires: is_unchecked().
  using Wait = std::function<Status(const std::function<bool()>& is_over)>;
  [[nodiscard]] Status wait_patiently(const std::function<bool()>& done, const std::string& call, const Wait& wait);
  // Compares the sums. communication: they differ, so all ranks roll back. Requires: is_unchecked(). Collective.
  [[nodiscard]] Status check_messages(const Wait& wait);

  // Whether some rank had begun this snapshot() call before a failure; and what it answers then.
  [[nodiscard]] bool is_past(std::uint64_t call) const { return call <= journal_.past(); }
  [[nodiscard]] std::optional<Version> answer_of(std::uint64_t call) const;
  // A snapshot() call begins. `reached`: the newest snapshot at each level, which may make a part of the log void.
  void enters(std::uint64_t call, const std::function<Version(LevelId)>& reached);
  // A snapshot is taken at `level`, because a log will soon be full.
  void note_full_log(LevelId level);

  // What was meant for each level, and was under way in a failure after which this rank stays, may never get there.
  void drops(const Versions& meant, const std::function<Version(LevelId)>& reached);
  [[nodiscard]] bool is_dropped(LevelId level, Version meant, Version reached) const;

  // Survivors ship to each replacement what the dead rank exchanged before restore(). Collective.
  [[nodiscard]] Status settle_prologue();
  // All ranks have restored together, and begin new logs at this snapshot() call. Collective.
  [[nodiscard]] Status begins(std::uint64_t call);
  struct Settled {
    std::uint64_t newest = 0;  // snapshot() calls that the rank which has made most has begun
    Version last_version;      // the highest that a rank has used
    std::vector<replay::Repeated> again;
  };
  // A survivor ships to replacements, which have restored a snapshot of the call `epoch`, what they need. `calls`: of
  // snapshot() that it has begun; `last`: the highest version that it has used. Collective: a replacement takes over.
  [[nodiscard]] Result<Settled> settle(std::uint64_t epoch, std::uint64_t calls, Version last);
  // A replacement has restored: takes what survivors ship, and catches up from now on. `completed`: whether it has its
  // objects and files. communication: not all can continue. Collective.
  [[nodiscard]] Result<Settled> takes_over(std::uint64_t epoch, Version last, const Status& completed);
  // Steps of a replacement are recomputed together with spares, if there are some. Returns the snapshot() calls that
  // have been made then; nothing: it computes alone.
  [[nodiscard]] std::optional<std::uint64_t> recompute();
  // All ranks have finished.
  void ends() { choices_.remove(*world_->local); }

 private:
  void open_spill();
  void look_whether_caught_up();

  struct CatchUp {
    Trace::Span span;
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  };

  const Setting setting_;
  Repairs& repairs_;
  replay::Journal journal_;
  replay::DeadlockCheck deadlocks_;  // while it is in a world
  ChoiceRecord choices_;
  std::optional<OnLoss> on_loss_;
  std::optional<World> world_;
  std::optional<CatchUp> catch_up_;  // since it has rolled back alone, while it is in that world
  Versions dropped_ = {};
  bool log_has_filled_ = false;  // before it was cut
};

}  // namespace cairn::rollback
