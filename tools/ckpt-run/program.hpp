// The program that the launcher is to start, as this host's file system shows it. Local.
#pragma once

#include <optional>
#include <string>

#include "options.hpp"

namespace ckpt_run {

// Why this host cannot run the application: "./heta: No such file or directory". Nothing: it can, or that is not known,
// since the launcher was told to look elsewhere. It is looked for where launchers do: by its path from the working
// directory, or by its name in PATH and in the working directory.
[[nodiscard]] std::optional<std::string> why_not_run(const Options& options);

// LD_PRELOAD for the ranks, so that MPI calls are intercepted in a program that cannot link cairn-tap: the tap beside
// this ckpt-run, and what the user preloads. Empty: the application is not for Python, and --preload-tap is not given.
[[nodiscard]] std::string preload_of(const Options& options);

}  // namespace ckpt_run
