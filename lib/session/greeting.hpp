// The first messages between a rank and its head, and their result.
#pragma once

#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/trace.hpp"
#include "engine/engine.hpp"
#include "engine/messages.hpp"
#include "session/environment.hpp"
#include "session/head_link.hpp"
#include "session/membership.hpp"
#include "session/own_engine.hpp"
#include "store/store.hpp"

namespace cairn {

struct Greeting {
  OwnEngine engine;
  std::unique_ptr<HeadLink> link;
  Opened life;  // without an error
};

// `own`: for a process that is a head itself, the setup of its engine. Collective in time: all ranks have the same
// error.
[[nodiscard]] Result<Greeting> greet_head(const Membership& membership, Store& local, std::optional<EngineSetup> own,
                                          const Log& log, const Trace& trace, const Environment& environment);

}  // namespace cairn
