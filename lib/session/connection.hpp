// An application rank's connection to its job as it stands: its place in it, its node's store, the line to its head,
// and the engine where this process is the head. Made whole, of a head that has answered; ends with the communicators.
// A repair of the running job makes another one, and what it is to outlive is the Application's.
//
// Belongs to one thread; the engine may have one of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/trace.hpp"
#include "engine/engine.hpp"
#include "engine/messages.hpp"
#include "schedule/pulse.hpp"
#include "session/head_link.hpp"
#include "session/membership.hpp"
#include "session/own_engine.hpp"
#include "session/slot_warmer.hpp"
#include "store/store.hpp"

namespace cairn {

// In the order in which each refers to those before it.
struct Connection {
  std::unique_ptr<const Membership> membership;
  Trace trace;
  std::shared_ptr<Store> local;
  OwnEngine engine;
  std::unique_ptr<HeadLink> link;
  Opened life;  // as the head has said: of no error
  SlotWarmer warmer;
  std::optional<Pulse> pulse;  // none: nothing has to be agreed on in time

  // Waits for the engine's thread. A head that sleeps is woken, and sees for itself that its rank has gone: after a
  // failure no message would reach it.
  ~Connection();

  [[nodiscard]] Rank rank() const { return membership->rank(); }
  [[nodiscard]] Identity identity(Version version) const { return {life.incarnation, version, life.run}; }
  [[nodiscard]] std::uint32_t free_slots() const { return life.slots - std::min(life.slots, link->outstanding()); }
  // Says that the application drops its session, so that others do not wait for this rank. Local.
  void leave(Version last_version, std::uint64_t calls);
};

// A rank and its head have spoken.
struct Greeting {
  OwnEngine engine;
  std::unique_ptr<HeadLink> link;
  Opened life;
};
// The first words of a rank with its head, which this process is itself if it has a setup. Collective in time: an error
// is that of all ranks.
[[nodiscard]] Result<Greeting> greet_head(const Membership& membership, Store& local, std::optional<EngineSetup> own,
                                          const Log& log, const Trace& trace, const Clock& clock);

}  // namespace cairn
