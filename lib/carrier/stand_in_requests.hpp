// Requests that the application holds for messages that a carrier makes: genuine requests of MPI that are never
// started, since MPI's Fortran layer looks inside them, and MPI itself would take each for complete. Each stands for
// one message at a time, and is used again for another.
//
// Not thread-safe. Local.
#pragma once

#include <mpi.h>

#include <vector>

namespace cairn {

class StandInRequests {
 public:
  StandInRequests() = default;
  // Frees those that are not in use. The others stay MPI's.
  ~StandInRequests();
  StandInRequests(const StandInRequests&) = delete;
  StandInRequests& operator=(const StandInRequests&) = delete;

  // MPI_REQUEST_NULL: MPI could make none.
  [[nodiscard]] MPI_Request take();
  void give_back(MPI_Request request) { free_.push_back(request); }

 private:
  std::vector<MPI_Request> free_;
};

}  // namespace cairn
