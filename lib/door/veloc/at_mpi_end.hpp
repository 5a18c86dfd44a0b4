// Calls a function when the program calls MPI_Finalize, before a session notices that.
#pragma once

#include <mpi.h>

#include <functional>
#include <utility>

namespace cairn::door {

class AtMpiEnd {
 public:
  explicit AtMpiEnd(std::function<void()> call) : call_(std::move(call)) {}
  ~AtMpiEnd() { disarm(); }
  AtMpiEnd(const AtMpiEnd&) = delete;
  AtMpiEnd& operator=(const AtMpiEnd&) = delete;

  // To be called after each session that is opened: MPI calls last what was attached first. Local.
  void arm();
  void disarm();

 private:
  static int on_end(MPI_Comm comm, int key, void* value, void* extra);

  std::function<void()> call_;
  int key_ = MPI_KEYVAL_INVALID;
  bool is_armed_ = false;
};

}  // namespace cairn::door
