// A process's part in the repairs of its job. In an application rank a repair takes place inside the call that a
// failure has struck: the ranks vote that the session is over, meet the other processes, and join the repaired world.
// Then they vote whether all of them can continue. A rank that cannot, or whose call has no way to wait, leaves its
// application instead, and all ranks roll back.
//
// One thread. Every call is collective among the application ranks, but for what is marked.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "rollback/host.hpp"
#include "rollback/phase.hpp"

namespace cairn::rollback {

class Repairs {
 public:
  // `host` must outlive this object. `only_lost`: of the meeting that this process has joined the job in.
  explicit Repairs(Host& host, bool only_lost = false) : host_(host), only_lost_(only_lost) {}
  Repairs(const Repairs&) = delete;
  Repairs& operator=(const Repairs&) = delete;

  // Local. Whether only the lost ranks roll back after the last repair; the same in all processes. Then survivors
  // continue their calls, and an application rank that opens a session takes the place of a lost one.
  [[nodiscard]] bool only_lost_roll_back() const { return only_lost_; }
  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] Host& host() { return host_; }

  // Local. This process opens a session, as an application rank or a head.
  void opens();
  // A call has found that a process has died. Repairs the job; true: this rank continues its call. Otherwise its
  // application is told, which may throw.
  bool stays();
  // A replacement has taken what survivors shipped to it, or could not. Whether all have come as far: from here on a
  // failure is another one.
  [[nodiscard]] bool settled(bool ok);
  // Whether all application ranks have finished, as often as failures send some of them back. A rank that has finished
  // keeps its log until then.
  [[nodiscard]] bool all_finished();

  // Local. This process cannot go on with its session, for this reason.
  void cannot_go_on(Obstacle why);
  // Local. It leaves its session, so that all do. Has no effect once a call of the session has met the others.
  void leaves();
  // Then, without a session: all ranks roll back.
  void rolls_back();
  // Votes that the session is over, well or not. Has no effect after such a vote.
  void vote_over(bool well);
  // Collective among all live processes. An application rank votes before, unless it has.
  void meet(Vote vote = {});

 private:
  void go(Phase next);
  [[nodiscard]] bool is_over() const { return phase_ == Phase::voted || phase_ == Phase::met; }
  [[nodiscard]] bool stay();
  [[nodiscard]] Status join(LoggedRank& rank);
  [[nodiscard]] std::function<void()> impatience();
  [[nodiscard]] bool messages_match();

  Host& host_;
  Phase phase_ = Phase::met;  // this process has joined the job
  bool only_lost_;
  Obstacle obstacle_;  // why this process could not stay in its call at the last failure
};

}  // namespace cairn::rollback
