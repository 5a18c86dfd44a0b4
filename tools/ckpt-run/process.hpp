// Processes that ckpt-run starts, and what they leave behind. Nothing here waits without a limit, and nothing is
// signalled that ckpt-run has not started, directly or through others.
//
// One thread. Ckpt-run adopts what its children abandon (adopt_orphans), so that every process on this host that comes
// from it can be found below it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace ckpt_run {

// How a process ended: an exit code, or 128 + the number of the signal that killed it.
struct Ending {
  int code = 0;
  std::string out;  // of run_for_output and run_all_for_output
};

struct StartOptions {
  std::map<std::string, std::string> environment = {};  // on top of this process's own
  bool silent = false;                                  // output goes nowhere, but what goes to `output`
  int output = -1;                                      // a descriptor for its stdout; −1: as this process's
  bool input = false;                                   // it reads what ckpt-run was given to read
};

// Starts a program, found by PATH, in a session of its own, so that a terminal's Ctrl-C does not reach it. Its stdin is
// empty, or this process's own if that is a file or a pipe: each life reads a file from the same place, and a pipe from
// where the last one stopped. It is never a terminal, since only foreground processes may read one. The program gets
// SIGTERM when ckpt-run dies. An error if it cannot be executed.
[[nodiscard]] cairn::Result<pid_t> start(const std::vector<std::string>& argv, const StartOptions& options = {});

// How a child ended, if it has; also removes the zombie.
struct ChildEnd {
  int code = 0;            // as in Ending
  bool by_signal = false;  // of the child itself; shells and launchers also exit with such a code
};
[[nodiscard]] std::optional<ChildEnd> reap_child(pid_t pid);
// The same: its code.
[[nodiscard]] std::optional<int> reap(pid_t pid);

// Its stdout, and how it ended; killed after `limit` (code 137).
[[nodiscard]] cairn::Result<Ending> run_for_output(const std::vector<std::string>& argv,
                                                   std::chrono::milliseconds limit);

// Runs all, some at a time, silently; each is killed after `limit`. Exit codes, in order. When `hurry` returns true,
// this ends early: commands without a code then count as killed.
[[nodiscard]] std::vector<int> run_all(const std::vector<std::vector<std::string>>& commands,
                                       std::chrono::milliseconds limit, const std::function<bool()>& hurry);

// The same, with what each has written to its stdout, as far as it fits into `most_bytes`.
[[nodiscard]] std::vector<Ending> run_all_for_output(const std::vector<std::vector<std::string>>& commands,
                                                     std::chrono::milliseconds limit, std::size_t most_bytes,
                                                     const std::function<bool()>& hurry);

void adopt_orphans();

// All processes below this one that are not zombies.
[[nodiscard]] std::vector<pid_t> descendants();

// All processes on this host that are not zombies and were started with the variable set to `value`.
[[nodiscard]] std::vector<pid_t> processes_with(const std::string& name, const std::string& value);

// Value of a variable in a process's first environment; nothing when it cannot be read.
[[nodiscard]] std::optional<std::string> variable_of(pid_t pid, const std::string& name);

}  // namespace ckpt_run
