// The process that takes part in the repairs of its job, as local rollback needs it: its ways to the other processes of
// the job, and the session that it has as an application rank.
#pragma once

#include <functional>

#include "base/error.hpp"
#include "rollback/obstacle.hpp"

namespace cairn::rollback {

class Helpers;
class LoggedRank;

// What a process tells the others at a meeting.
struct Vote {
  bool can_stay = false;        // this application rank can continue its call, so that only the lost ranks roll back
  bool have_caught_up = false;  // it knows that all ranks that have rolled back alone have caught up
  Obstacle obstacle = {};       // why it cannot
};

// One thread.
class Host {
 public:
  virtual ~Host() = default;

  // Whether it is an application rank.
  [[nodiscard]] virtual bool computes() const = 0;
  // All processes are to leave their sessions.
  virtual void alarm() = 0;
  [[nodiscard]] virtual bool is_alarmed() = 0;
  // Whether all application ranks say `ok`. Collective among them. Calls `meanwhile` again and again, if there is one.
  [[nodiscard]] virtual bool vote(bool ok, const std::function<void()>& meanwhile) = 0;
  // The processes that live meet, and replace the dead ones. Returns whether only the lost ranks roll back, the same on
  // all. Collective among the live processes.
  [[nodiscard]] virtual bool meet(const Vote& vote) = 0;
  // This rank rolls back: tells its application. May throw.
  virtual void tell_of_failure() = 0;

  // Of its session. Null: it has none, or all ranks roll back after each failure.
  [[nodiscard]] virtual LoggedRank* rank() = 0;
  // The following ones require rank(). Notes obstacles that the rank does not know.
  virtual void look_for_obstacles() = 0;
  // The rank has restored; a snapshot() call begins. No message of the application should be under way.
  virtual void passes_restore() = 0;
  virtual void passes_safe_point() = 0;
  // Leaves the world, in which a process has died, once what was under way has ended. False: it has not.
  [[nodiscard]] virtual bool leave_world() = 0;
  // Joins the repaired world. Collective over it, as are the next two.
  [[nodiscard]] virtual Status join_world() = 0;
  // Makes the application's communicators again.
  [[nodiscard]] virtual Status adopt() = 0;
  // A survivor waits while the lost ranks restore, and ships them what they need.
  [[nodiscard]] virtual Status settle_offer() = 0;
  // Sends again what rank() has to, and those messages continue that the failure has interrupted. Local.
  virtual void go_on() = 0;
  // Compares what ranks have exchanged, if some have rolled back alone. Collective among the ranks. May throw.
  [[nodiscard]] virtual Status check_messages() = 0;
  // In a replacement: those who recompute steps together with it. Null: there are none.
  [[nodiscard]] virtual Helpers* helpers() = 0;
};

}  // namespace cairn::rollback
