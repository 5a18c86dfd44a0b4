// How a launcher has ended, in words. Pure.
#pragma once

#include <string>

#include "facts.hpp"
#include "restart_loop.hpp"

namespace ckpt_run {

// Shells and launchers add this to the number of a signal.
inline constexpr int kOfSignals = 128;

// "mpirun ended with code 137 (SIGKILL)"
[[nodiscard]] std::string how_it_ended(const std::string& launcher, const LifeEnd& end, LauncherKind kind);

}  // namespace ckpt_run
