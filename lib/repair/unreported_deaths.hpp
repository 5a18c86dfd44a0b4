// Processes of this host that are gone although MPI has not reported their death. A meeting would wait for them, and
// never end.
//
// One thread. Local.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "mpi/host_processes.hpp"
#include "mpi/ulfm_comm.hpp"

namespace cairn {

class UnreportedDeaths {
 public:
  struct Neighbour {
    std::uint32_t number = 0;  // in the pool
    ProcessId process;
    std::string name;
  };
  // All of them must outlive this object.
  UnreportedDeaths(const HostProcesses& host, const UlfmComm& pool, const std::vector<Neighbour>& neighbours)
      : host_(host), pool_(pool), neighbours_(neighbours) {}

  // To be called again and again. An error once a process has been gone for so long that MPI must have missed it.
  [[nodiscard]] Status look();

 private:
  using Clock = std::chrono::steady_clock;
  const HostProcesses& host_;
  const UlfmComm& pool_;
  const std::vector<Neighbour>& neighbours_;
  Clock::time_point next_look_{};
  std::map<std::uint32_t, Clock::time_point> since_;  // by number
};

}  // namespace cairn
