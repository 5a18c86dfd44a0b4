// What the tap does around calls that make, set and get error handlers. See tap/error_handlers.hpp.
#pragma once

#include <mpi.h>

#include "intercept/act.hpp"
#include "tap/error_handlers.hpp"
#include "tap/hear.hpp"
#include "tap/world.hpp"

namespace cairn::tap {

inline int sets_handler(int (*next)(MPI_Comm, MPI_Errhandler), const Site& /*site*/, MPI_Comm comm,
                        MPI_Errhandler handler) {
  const Call call;
  if (!call.is_applications()) return next(comm, handler);
  const MPI_Errhandler in_mpi = in_place_of(comm, handler);
  const int code = next(comm, in_mpi);
  Carrier* const one = carrier();
  if (one != nullptr && code == MPI_SUCCESS) one->sets_handler(comm, in_mpi);
  const MPI_Comm twin = code == MPI_SUCCESS ? handler_twin(comm) : MPI_COMM_NULL;
  return twin == MPI_COMM_NULL ? code : next(twin, handler);
}

inline int gets_handler(int (*next)(MPI_Comm, MPI_Errhandler*), const Site& /*site*/, MPI_Comm comm,
                        MPI_Errhandler* handler) {
  const Call call;
  const int code = next(comm, handler);
  if (code == MPI_SUCCESS && call.is_applications()) tell_meant(comm, *handler);
  return code;
}

template <class Function>
int makes_handler(int (*next)(Function*, MPI_Errhandler*), const Site& /*site*/, Function* function,
                  MPI_Errhandler* handler) {
  const Call call;
  if (!call.is_applications() || function == nullptr) return next(function, handler);
  const int code = next(function_of_comms(), handler);
  if (code == MPI_SUCCESS) made_handler(*handler, function);
  return code;
}

inline int sets_window_handler(int (*next)(MPI_Win, MPI_Errhandler), const Site& /*site*/, MPI_Win window,
                               MPI_Errhandler handler) {
  const Call call;
  return next(window, call.is_applications() ? in_place_of_window(handler) : handler);
}

inline int gets_window_handler(int (*next)(MPI_Win, MPI_Errhandler*), const Site& /*site*/, MPI_Win window,
                               MPI_Errhandler* handler) {
  const Call call;
  const int code = next(window, handler);
  if (code == MPI_SUCCESS && call.is_applications()) tell_meant_of_window(window, *handler);
  return code;
}

template <class Function>
int makes_window_handler(int (*next)(Function*, MPI_Errhandler*), const Site& /*site*/, Function* function,
                         MPI_Errhandler* handler) {
  const Call call;
  if (!call.is_applications() || function == nullptr) return next(function, handler);
  const int code = next(function_of_windows(), handler);
  if (code == MPI_SUCCESS) made_window_handler(*handler, function);
  return code;
}

}  // namespace cairn::tap
