// What the tap does around the MPI calls that it hears (calls.txt): the room defines these calls for the whole process,
// in front of MPI's own.
//
// PMPI_X is defined as well as MPI_X, since Fortran's calls come as PMPI_X (Open MPI), and so do those of other tools
// that hear calls. Each then calls the next definition of its own name: another tool's, or MPI's. What is called
// meanwhile, by MPI itself or by such a tool, is not the application's, and passes.
#pragma once

#include <mpi.h>

#include <span>
#include <tuple>
#include <vector>

#include "tap/family.hpp"
#include "tap/world_guard.hpp"

namespace cairn::tap {

// The definition of this name after the tap's own. There is one wherever the application was linked with a shared MPI;
// ends the process with a text where there is none.
[[nodiscard]] void* next_of(const char* name);
template <class Function>
[[nodiscard]] Function next(const char* name) {
  return reinterpret_cast<Function>(next_of(name));
}

// Does nothing, but whoever calls it has all these definitions linked.
void link_calls();

// A call of this thread while it lasts.
class Call {
 public:
  // The application may leave a call by a jump, without its end.
  static void none_lasts() { depth() = 0; }
  Call() : outermost_(depth()++ == 0) {}
  ~Call() { --depth(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  // Made by the application.
  [[nodiscard]] bool is_outermost() const { return outermost_; }
  // And somebody wants to know.
  [[nodiscard]] bool is_heard() const { return outermost_ && anybody_listens(); }

 private:
  static int& depth() {
    thread_local int calls = 0;
    return calls;
  }
  bool outermost_;
};

// Which call it is, and on what communicator.
struct Site {
  const char* name;
  MPI_Comm comm;
};

template <class... Arguments>
int collective(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  return next(arguments...);
}

// The call has ended with this code; the last of its arguments says where the new communicator is.
template <class... Rest>
void tell_of_made(const Call& call, int code, MPI_Comm parent, const Rest&... rest) {
  const MPI_Comm* const comm = std::get<sizeof...(rest) - 1>(std::tuple(rest...));
  if (call.is_heard() && code == MPI_SUCCESS && *comm != MPI_COMM_NULL) made(parent, *comm);
}

template <class... Rest>
int makes(int (*next)(MPI_Comm, Rest...), const Site& site, MPI_Comm parent, Rest... rest) {
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  const int code = next(parent, rest...);
  tell_of_made(call, code, parent, rest...);
  return code;
}

template <class... Rest>
int makes_of_some(int (*next)(MPI_Comm, Rest...), const Site& /*site*/, MPI_Comm parent, Rest... rest) {
  const Call call;
  const int code = next(parent, rest...);
  tell_of_made(call, code, parent, rest...);
  return code;
}

template <class... Rest>
int begins_to_make(int (*next)(MPI_Comm, Rest...), const Site& site, MPI_Comm parent, Rest... rest) {
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  const int code = next(parent, rest...);
  // Its handle is known at once, by Open MPI and by MPICH: their Fortran layers need that too.
  const auto arguments = std::tuple(rest...);
  const MPI_Comm* const comm = std::get<sizeof...(rest) - 2>(arguments);
  const MPI_Request* const request = std::get<sizeof...(rest) - 1>(arguments);
  if (call.is_heard() && code == MPI_SUCCESS) begun(parent, *comm, *request);
  return code;
}

inline int ends(int (*next)(MPI_Comm*), MPI_Comm* comm) {
  const Call call;
  const MPI_Comm ending = *comm;
  const int code = next(comm);
  if (anybody_listens() && code == MPI_SUCCESS) ended(ending);
  return code;
}

// Requests before a call: those that are null after it have become complete.
class Requests {
 public:
  explicit Requests(std::span<const MPI_Request> requests) : now_(requests) {
    if (any_begun()) before_.assign(requests.begin(), requests.end());
  }
  void tell_of_completed() const {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      if (before_[i] != MPI_REQUEST_NULL && now_[i] == MPI_REQUEST_NULL) completed(before_[i]);
    }
  }

 private:
  std::span<const MPI_Request> now_;
  std::vector<MPI_Request> before_;  // only while one may be told of
};

template <class... Rest>
int completes_some(int (*next)(int, MPI_Request*, Rest...), int count, MPI_Request* requests, Rest... rest) {
  const Call call;
  const Requests all({requests, static_cast<std::size_t>(count > 0 ? count : 0)});
  const int code = next(count, requests, rest...);
  if (call.is_heard()) all.tell_of_completed();
  return code;
}

template <class... Rest>
int completes_one(int (*next)(MPI_Request*, Rest...), MPI_Request* request, Rest... rest) {
  const Call call;
  const Requests one({request, 1});
  const int code = next(request, rest...);
  if (call.is_heard()) one.tell_of_completed();
  return code;
}

}  // namespace cairn::tap
