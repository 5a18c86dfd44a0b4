// Which processes of this host have come to a meeting of the pool. One that is alive and does not come within the limit
// is ended, so that it is replaced like a dead one, and prints where it was ([recovery] straggler_limit): a rank may
// wait inside MPI for another that has already come, on a communicator that nobody has revoked.
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

  // This process has come, or waits where only the others can delay it: tells its neighbours.
  void come();
  // Call it again and again after come(). When it is time, one of the processes that have come ends those that have
  // not.
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
