// An application rank's link to the head of its node: sends the rank's messages, and keeps the head's messages until
// the session uses them. If this process runs the engine itself, waiting runs it. One thread.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "comm/comm.hpp"
#include "engine/messages.hpp"
#include "store/store.hpp"

namespace cairn {

class HeadLink {
 public:
  // `drive`: runs one step of the engine, if the engine runs in this thread; otherwise empty. The bell may be set
  // later.
  using Drive = std::function<Result<bool>()>;
  HeadLink(Comm& control, Peer head, Drive drive, Clock clock);

  void use_bell(std::shared_ptr<Bell> bell) { bell_ = std::move(bell); }
  // `told` is called once in a wait when the head does not answer, with how long this rank has waited.
  void on_silent_head(std::function<void(const std::string& call, std::chrono::seconds)> told) {
    head_is_silent_ = std::move(told);
  }

  [[nodiscard]] Status send(const ToHead& message);
  // Wakes a sleeping head, without a message.
  void wake_head();
  // Receives all messages that have arrived, without waiting.
  [[nodiscard]] Status poll();
  // The same, but only if the head has rung since the last call: looking for messages takes longer than writing a small
  // shard.
  [[nodiscard]] Status poll_if_rung();
  // The head rings only for what it does itself; a wait for anything else is woken by `nobody`.
  enum class WokenBy { head, nobody };
  struct Wait {
    std::string call;  // where the rank is, for a person
    WaitLimit limit = kForever;
    WokenBy woken_by = WokenBy::head;
    std::function<bool()> moved = {};  // whether the last `done` moved anything: then the next comes at once
  };
  // Waits until `done` returns true, or the limit is reached. Returns whether `done` did. After a while, reports the
  // wait to the head, which finds out which ranks are missing (engine/inquiry).
  [[nodiscard]] Result<bool> wait_until(const std::function<bool()>& done, const Wait& wait);

  // Does in a wait of another kind what wait_until() does meanwhile. Returns whether it did any work for the head.
  // Errors are left for the next call.
  bool work();

  // What the head has reported so far.
  [[nodiscard]] Version reached(LevelId level) const { return reached_[static_cast<std::size_t>(level)]; }
  [[nodiscard]] std::uint32_t outstanding() const { return static_cast<std::uint32_t>(sealed_.size()); }
  [[nodiscard]] const std::set<Version>& sealed() const { return sealed_; }
  [[nodiscard]] const std::optional<Error>& failure(Version version, LevelId level) const;
  // Replies, each taken once.
  std::optional<Opened> opened;
  std::optional<Offer> offer;
  std::optional<RestoreDone> restore_done;
  std::optional<Finalized> finalized;
  // A rank that has left its session; of several, the one that made the fewest calls.
  std::optional<RankLeft> left;
  // The missing ranks, as text, by the last inquiry in the present wait.
  std::optional<std::string> missing;
  // An error of background work that was not reported yet, with its version and levels, if it has any.
  struct BackgroundError {
    Error error;
    Version version;
    LevelSet levels;
  };
  std::deque<BackgroundError> errors;
  // The level of the snapshot that the head asks for, once.
  std::optional<LevelId> take_snapshot_now() { return std::exchange(snapshot_now_, std::nullopt); }
  // Promotions that the head has timed, kept until they are asked for; only the last few.
  std::deque<Reached> promotions;

 private:
  // A message may come a little later than its ring.
  static constexpr int kLooksPerRing = 2;

  // A wait that has become long.
  static constexpr std::chrono::seconds kPatience{10};
  enum class Told { nobody, head, person };

  void take(ToRank message);
  [[nodiscard]] Status rest(const Wait& wait, std::uint32_t rings);
  [[nodiscard]] Status report_wait(const Wait& wait, std::chrono::microseconds waited);

  Comm& control_;
  Peer head_;
  Drive drive_;
  Clock clock_;
  std::function<void(const std::string&, std::chrono::seconds)> head_is_silent_;
  std::shared_ptr<Bell> bell_;
  Told told_ = Told::nobody;    // of the present wait
  bool head_answered_ = false;  // the head has answered
  bool asked_ = false;          // whether this rank waits
  std::uint32_t rings_ = 0;     // when poll_if_rung() looked last
  int looks_ = kLooksPerRing;   // looks left until the next ring
  std::optional<LevelId> snapshot_now_;
  std::optional<Error> lost_;  // why the head can no longer answer
  std::array<Version, kMostLevels + 1> reached_{};
  std::set<Version> sealed_;       // and not yet retired
  std::set<Version> failed_here_;  // this rank could not write its part; the head has not answered yet
  std::map<std::pair<Version, LevelId>, std::optional<Error>> failures_;
};

}  // namespace cairn
