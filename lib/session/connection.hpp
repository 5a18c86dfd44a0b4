// An application rank's connection to its job as it stands: its place in it, its node's store, the line to its head,
// and the engine where this process is the head. It is made once the head has answered, and ends with the
// communicators. A repair of the running job makes another one; what has to outlive it is in the Application.
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
  Opened life;  // as the head has said
  SlotWarmer warmer;
  std::optional<Pulse> pulse;  // none: nothing has to be agreed on in time

  // `place`: of a process that computes; `greeting`: what its head there has answered.
  Connection(std::unique_ptr<const Membership> place, Trace traced, std::shared_ptr<Store> store, Greeting greeting);
  // Waits for the engine's thread. Wakes a sleeping head, which then sees by itself that its rank has gone: after a
  // failure no message would reach it.
  ~Connection();

  [[nodiscard]] Rank rank() const { return membership->rank(); }
  [[nodiscard]] Identity identity(Version version) const { return {life.incarnation, version, life.run}; }
  [[nodiscard]] std::uint32_t free_slots() const { return life.slots - std::min(life.slots, link->outstanding()); }
  // Says that this rank ends its session without the others, so that they do not wait for it, and waits for the
  // engine's thread. Local.
  void leave(const FinalizeRequest& last);
};

// Takes this process's place in the job: agrees on who is where, makes the communicators, opens the stores, and speaks
// with the head. A dedicated head serves its node inside this call, to the end, and gets nothing. Collective over the
// environment's world: all take a step or none does, and if one fails, what was opened is closed again.
[[nodiscard]] Result<std::unique_ptr<Connection>> connect(const Environment& environment, const Config& config,
                                                          const Log& log);

}  // namespace cairn
