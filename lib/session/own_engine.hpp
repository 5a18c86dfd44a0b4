// The engine of a node whose head is this process: its setup, and where it runs if the process is also an application
// rank. A dedicated head calls Engine::serve() itself.
#pragma once

#include <memory>
#include <thread>

#include "config/config.hpp"
#include "engine/engine.hpp"
#include "topology/topology.hpp"

namespace cairn {

// The engine's part of the configuration.
[[nodiscard]] EngineOptions engine_options(const Config& config, const Topology& topology, NodeId node);

// Both empty: another process runs the engine, or it could not be opened and all ranks have the error.
struct OwnEngine {
  std::unique_ptr<Engine> in_calls;  // [head] mode = inline: runs while this rank is in a call
  std::jthread thread;               // [head] mode = thread: runs there until the ranks are finalized
};

// Opens the engine. Collective among heads, in a thread or here. May wait for the first messages of this node's ranks,
// so this rank must have sent its own before.
[[nodiscard]] OwnEngine start_engine(EngineSetup setup);

}  // namespace cairn
