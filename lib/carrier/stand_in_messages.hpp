// Matched messages that the application holds for those that a carrier has received: genuine messages of MPI, since the
// application may ask MPI about their handles. Each is an empty message of this process to itself, and stands for one
// message at a time.
//
// Not thread-safe. Local.
#pragma once

#include <mpi.h>

#include <vector>

namespace cairn {

class StandInMessages {
 public:
  StandInMessages() = default;
  // Receives those that are not in use. The others stay MPI's.
  ~StandInMessages();
  StandInMessages(const StandInMessages&) = delete;
  StandInMessages& operator=(const StandInMessages&) = delete;

  // MPI_MESSAGE_NULL: MPI could make none.
  [[nodiscard]] MPI_Message take();
  void give_back(MPI_Message message) { free_.push_back(message); }

 private:
  MPI_Comm self_ = MPI_COMM_NULL;
  std::vector<MPI_Message> free_;
};

}  // namespace cairn
