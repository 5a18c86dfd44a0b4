// The processes of this host, as a pool looks at them and ends them. A port: tests have threads.
#pragma once

#include "mpi/process.hpp"

namespace cairn {

// Local. See process.hpp.
class HostProcesses {
 public:
  HostProcesses() = default;
  virtual ~HostProcesses() = default;
  HostProcesses(const HostProcesses&) = delete;
  HostProcesses& operator=(const HostProcesses&) = delete;

  [[nodiscard]] virtual bool is_gone(const ProcessId& process) const = 0;
  virtual void kill(const ProcessId& process) = 0;
  virtual void ask_for_stack(const ProcessId& process) = 0;
};

// Those of the system.
class SystemProcesses final : public HostProcesses {
 public:
  [[nodiscard]] bool is_gone(const ProcessId& process) const override { return cairn::is_gone(process); }
  void kill(const ProcessId& process) override { kill_process(process); }
  void ask_for_stack(const ProcessId& process) override { cairn::ask_for_stack(process); }
};

}  // namespace cairn
