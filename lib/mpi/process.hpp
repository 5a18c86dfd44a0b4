// This host, and its processes as /proc shows them: which one this is, whether another one is stopped, and how to kill
// it. A process is named by its number and the time of its start, so a new process with an old number is not mistaken
// for the old one. Local.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cairn {

struct ProcessId {
  std::int32_t number = 0;
  std::uint64_t started = 0;  // in clock ticks since the host's start
  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

// As MPI calls it.
[[nodiscard]] std::string host_name();

[[nodiscard]] ProcessId this_process();
// The number of the process that started this one: of a rank, the host's daemon of mpirun.
[[nodiscard]] std::int32_t parent_process();
// True if it exists and has been stopped, by a signal or a debugger.
[[nodiscard]] bool is_stopped(const ProcessId& process);
[[nodiscard]] bool is_gone(const ProcessId& process);
void kill_process(const ProcessId& process);
// When another process asks for it, this process will write to stderr where its main thread is, and end by SIGKILL.
// Does nothing if the application handles SIGQUIT itself.
void show_stack_when_asked();
// Asks another process for that. It may not answer.
void ask_for_stack(const ProcessId& process);
// Kills the children of `parent` that were started with `variable` ("NAME=value") in their environment, except those in
// `keep`. Their own children may have the variable too; those are left alone.
void kill_children_but(const std::vector<ProcessId>& keep, std::int32_t parent, const std::string& variable);

}  // namespace cairn
