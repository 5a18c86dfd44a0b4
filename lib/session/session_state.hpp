// What a session of an application rank is made of, by lifetime: the Setting never changes; the Application lives as
// long as the session; the Connection ends with the communicators. The calls of a session (SessionImpl) are made of
// functions of this.
//
// Belongs to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "config/config.hpp"
#include "rollback/logged_rank.hpp"
#include "session/application.hpp"
#include "session/call_watcher.hpp"
#include "session/connection.hpp"
#include "session/environment.hpp"

namespace cairn {

struct SessionState {
  // What the session was opened with, and does not change.
  struct Setting {
    Config config;
    Log log;
    Clock clock;
    LeaveMark leave_mark;      // on application rank 0; empty: no reports
    bool recoverable = false;  // the job repairs itself
    std::string rehearsal;     // as Environment::rehearsal
  };

  const Setting setting;
  Application application;
  std::unique_ptr<rollback::LoggedRank> logged;  // where only the lost ranks roll back; null: all do
  // Null after a failure, until the repair. Destroyed before the others, so that the head is notified first.
  std::unique_ptr<Connection> connection;
  CallWatcher* watcher = nullptr;  // null: calls are not reported
  bool finalized = false;

  [[nodiscard]] Rank rank() const { return application.rank; }
  [[nodiscard]] std::uint32_t size() const { return application.ranks; }
  [[nodiscard]] Comm& ranks() const { return *connection->membership->ranks; }
  [[nodiscard]] HeadLink& link() const { return *connection->link; }
  [[nodiscard]] Pulse* pulse() const { return connection->pulse ? &*connection->pulse : nullptr; }

  [[nodiscard]] bool stays_after(const Error& error) const { return logged && logged->stays_after(error); }
  [[nodiscard]] bool is_replacement() const { return logged && logged->replaces(); }
  // The application does what is not replayed; see LoggedRank.
  void obstruct(const std::string& what, rollback::Until until) const {
    if (logged) logged->obstruct(what, until);
  }

  // Whether the session can be used by this call.
  [[nodiscard]] Status usable_now(const char* call) const;
  // While it waits, messages of the head are read. Where messages of the application are unchecked, they are checked if
  // that takes long.
  [[nodiscard]] Status wait_until(const std::function<bool()>& done, const std::string& call,
                                  HeadLink::WokenBy woken_by = HeadLink::WokenBy::head) const;
};

}  // namespace cairn
