// MPI_COMM_WORLD while a session is open of which some ranks do not compute: a collective of the application there
// waits for heads and spares, which do not come, for ever. The guard tells of it instead.
//
// Thread-safe. Local.
#pragma once

#include <mpi.h>

#include <functional>

namespace cairn::tap {

class WorldGuard {
 public:
  // `tell` is called with the name of such a call before it is made, which goes on if it returns.
  explicit WorldGuard(std::function<void(const char* call)> tell);
  ~WorldGuard();
  WorldGuard(const WorldGuard&) = delete;
  WorldGuard& operator=(const WorldGuard&) = delete;

  void tell(const char* call) const { tell_(call); }

 private:
  std::function<void(const char*)> tell_;
};

// The application is about to make a collective call.
void check_collective(const char* call, MPI_Comm comm);

}  // namespace cairn::tap
