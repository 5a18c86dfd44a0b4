// An application rank's connection to its job: its place in it, its node's store, the link to its head, and the engine
// if this process is the head. It is made once the head has answered, and ends with the communicators. A repair of the
// running job makes another one; the Application has all that must outlive it.
//
// Belongs to one thread; the engine may have one of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/trace.hpp"
#include "config/config.hpp"
#include "engine/messages.hpp"
#include "schedule/pulse.hpp"
#include "session/environment.hpp"
#include "session/greeting.hpp"
#include "session/head_link.hpp"
#include "session/membership.hpp"
#include "session/own_engine.hpp"
#include "session/slot_warmer.hpp"
#include "store/store.hpp"

namespace cairn {

// Members are in an order in which each refers only to those before it.
struct Connection {
  std::unique_ptr<const Membership> membership;
  Trace trace;
  std::shared_ptr<Store> local;
  OwnEngine engine;
  std::unique_ptr<HeadLink> link;
  Opened life;  // the head's answer
  SlotWarmer warmer;
  std::optional<Pulse> pulse;  // none: ranks need no agreement on time

  // `place`: of an application rank; `greeting`: the answer of its head.
  Connection(std::unique_ptr<const Membership> place, Trace traced, std::shared_ptr<Store> store, Greeting greeting);
  // Waits for the engine's thread. Wakes a sleeping head, which then detects that its rank has gone: after a failure,
  // no message would reach it.
  ~Connection();

  [[nodiscard]] Rank rank() const { return membership->rank(); }
  [[nodiscard]] Identity identity(Version version) const { return {life.incarnation, version, life.run}; }
  [[nodiscard]] std::uint32_t free_slots() const { return life.slots - std::min(life.slots, link->outstanding()); }
  // Reports that this rank ends its session without the others, so that they do not wait for it. Then waits for the
  // engine's thread. Local.
  void leave(const FinalizeRequest& last);
};

// What calls of a session without a connection say.
[[nodiscard]] inline Error lost_connection() {
  return {Code::communication, "a process died, and the job rolls back", {}};
}

// Joins this process to the job: agrees on the topology, makes the communicators, opens the stores, and greets the
// head. A dedicated head serves its node inside this call, to the end, and gets nothing. Collective over the
// environment's world: all take a step or none does. If a step fails, everything that was opened is closed again.
[[nodiscard]] Result<std::unique_ptr<Connection>> connect(const Environment& environment, const Config& config,
                                                          const Log& log);

}  // namespace cairn
