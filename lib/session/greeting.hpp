// The first words of a rank with its head, and what comes of them.
#pragma once

#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/trace.hpp"
#include "engine/engine.hpp"
#include "engine/messages.hpp"
#include "session/head_link.hpp"
#include "session/membership.hpp"
#include "session/own_engine.hpp"
#include "store/store.hpp"

namespace cairn {

struct Greeting {
  OwnEngine engine;
  std::unique_ptr<HeadLink> link;
  Opened life;  // of no error
};

// `own`: what this process is to be the head with, if it is one. Collective in time: all ranks have the same error.
[[nodiscard]] Result<Greeting> greet_head(const Membership& membership, Store& local, std::optional<EngineSetup> own,
                                          const Log& log, const Trace& trace, const Clock& clock);

}  // namespace cairn
