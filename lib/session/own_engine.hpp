// The engine of a node whose head is this process: what it is set up with, and where it runs if the process computes
// besides. A dedicated head calls Engine::serve() itself.
#pragma once

#include <memory>
#include <thread>

#include "config/config.hpp"
#include "engine/engine.hpp"
#include "topology/topology.hpp"

namespace cairn {

// What an engine takes from the configuration.
[[nodiscard]] EngineOptions engine_options(const Config& config, const Topology& topology, NodeId node);

// Both empty: the engine is another process's, or it could not be opened, which it has told all ranks.
struct OwnEngine {
  std::unique_ptr<Engine> in_calls;  // [head] mode = inline: runs while this rank is in a call
  std::jthread thread;               // [head] mode = thread: runs there until the ranks are finalized
};

// Opens the engine. Collective among heads, in a thread or here, and may wait for the first words of this node's ranks:
// this rank has sent its own before.
[[nodiscard]] OwnEngine start_engine(EngineSetup setup);

}  // namespace cairn
