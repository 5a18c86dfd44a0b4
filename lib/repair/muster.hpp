// Who of this host has come to a meeting of the pool. Those that live and do not come within the limit are ended, so
// that they are replaced like any that died, and say where they were ([recovery] straggler_limit): a rank may wait
// inside MPI for another one that has come already, on a communicator that nobody has revoked.
//
// One thread. Local: nothing waits.
#pragma once

#include <mpi.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "mpi/process.hpp"

namespace cairn {

class Muster {
 public:
  struct Channel {
    MPI_Comm pool = MPI_COMM_NULL;   // is revoked when there is a meeting
    MPI_Comm words = MPI_COMM_NULL;  // the same members; not revoked before all have come
    int me = 0;
  };
  struct Neighbour {
    int number = 0;  // in both
    ProcessId process;
    std::string name;
    bool has_come = false;
    std::optional<std::chrono::steady_clock::time_point> ended = std::nullopt;
  };
  Muster(Channel channel, std::vector<Neighbour> neighbours, std::chrono::milliseconds limit, Log log);

  // This process comes, or waits where nothing but the others can keep it: tells its neighbours.
  void come();
  // To be called again and again after that. Of those that have come one ends who has not, when it is time.
  void look();

 private:
  using Clock = std::chrono::steady_clock;
  void hear();
  void end(Neighbour& straggler) const;

  Channel channel_;
  std::vector<Neighbour> neighbours_;
  std::chrono::milliseconds limit_;
  Log log_;
  bool come_ = false;
  Clock::time_point next_look_{};
  std::optional<Clock::time_point> called_;  // when this process knew that there is a meeting
};

}  // namespace cairn
