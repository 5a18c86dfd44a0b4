// Is told when the application begins MPI_Finalize, while MPI can still be used. Local, in the thread that ends MPI.
#pragma once

#include <mpi.h>

#include <functional>

namespace cairn {

class MpiEnd {
 public:
  // `tell` is called once at most, and not after this object is gone. Must not throw.
  explicit MpiEnd(std::function<void()> tell);
  ~MpiEnd();
  MpiEnd(const MpiEnd&) = delete;
  MpiEnd& operator=(const MpiEnd&) = delete;

 private:
  static int on_end(MPI_Comm comm, int key, void* value, void* extra);

  std::function<void()> tell_;
  int key_ = MPI_KEYVAL_INVALID;
};

}  // namespace cairn
