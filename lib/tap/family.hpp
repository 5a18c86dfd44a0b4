// The communicators that an application has made from its session's, at any depth: by MPI_Comm_dup, split, Cart_create
// and the like, in C or Fortran. The tap adds each to its parent's family when it is made, and takes it out when it is
// freed. Communicators of anybody else, Cairn's own among them, are in no family.
//
// A family belongs to a session and ends with it; the communicators themselves stay the application's.
// Thread-safe. Local: nothing communicates, and no call of MPI is made.
#pragma once

#include <mpi.h>

#include <functional>

namespace cairn::tap {

class Family {
 public:
  // `root`: the session's communicator. Not to be called inside a call of MPI. `on_made` is called for each further
  // one, by the thread that has made it, inside the call that makes it or completes it.
  Family(MPI_Comm root, std::function<void(MPI_Comm)> on_made);
  ~Family();
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  [[nodiscard]] bool has(MPI_Comm comm) const;
  void made(MPI_Comm comm) { on_made_(comm); }

 private:
  std::function<void(MPI_Comm)> on_made_;
};

// What the wrappers say to the families of this process.

// Whether there are any.
[[nodiscard]] bool anybody_listens();
// The application has made `comm` from `parent`.
void made(MPI_Comm parent, MPI_Comm comm);
void ended(MPI_Comm comm);

// The application has begun to make `comm` from `parent`; it is there when `request` is complete.
void begun(MPI_Comm parent, MPI_Comm comm, MPI_Request request);
// Whether any are under way.
[[nodiscard]] bool any_begun();
// A request that may be one of those is complete.
void completed(MPI_Request request);

}  // namespace cairn::tap
