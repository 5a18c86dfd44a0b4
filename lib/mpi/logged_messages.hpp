// The messages of an application rank whose failures only the lost ranks pay for ([recovery] rollback = lost): who
// makes them in MPI's place, as a session and its repairs need it. carrier/message_carrier is one.
//
// Belongs to the session's thread, but for what is marked.
#pragma once

#include <mpi.h>

#include <memory>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "mpi/lifeline.hpp"
#include "tap/carrier.hpp"

namespace cairn {

class LoggedMessages : public tap::Carrier {
 public:
  // The rank has restored, or a snapshot() call begins: no message should be under way.
  virtual void passes_restore() = 0;
  virtual void passes_safe_point() = 0;
  // Whether several threads make calls is known only here, until this is called.
  virtual void note_threads() = 0;
  // After a failure, once the communicators are revoked: waits until MPI has ended what was under way. Local. False: it
  // has not, so the buffers of the application may still change.
  [[nodiscard]] virtual bool harvest() = 0;
  // The same in a call that the failure strikes. In another thread nothing: the session's thread may be amid it.
  virtual void drain() = 0;
  // Makes the application's communicators again, after a repair or in a replacement. `twin`: what its first one stands
  // for. Collective over `ranks`.
  [[nodiscard]] virtual Status make_again(Comm& ranks, MPI_Comm twin) = 0;
  // After a repair: goes on there, and sends again what the rank has to. Local.
  virtual void goes_on(MPI_Comm twin, MPI_Comm own, std::shared_ptr<Lifeline> lifeline) = 0;
};

}  // namespace cairn
