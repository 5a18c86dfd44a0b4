// What the tap does around each kind of call in calls.txt: `next` is MPI's own, `site` says which call it is, and the
// rest are its arguments.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "intercept/next.hpp"
#include "tap/heard.hpp"
#include "tap/world_guard.hpp"

namespace cairn::tap {

// The argument that is `Back` places from the end.
template <std::size_t Back, class... Arguments>
auto last(const Arguments&... arguments) {
  return std::get<sizeof...(arguments) - Back>(std::tuple(arguments...));
}

template <class Result, class... Arguments>
Result local(Result (*next)(Arguments...), const Site& /*site*/, Arguments... arguments) {
  return next(arguments...);
}

template <class... Arguments>
int within(CallKind kind, int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  const Heard heard(call, kind, site);
  return next(arguments...);
}

template <class... Arguments>
int marks(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return within(CallKind::opaque, next, site, arguments...);
}

template <class... Arguments>
int marks_collective(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  const Heard heard(call, CallKind::opaque, site);
  return next(arguments...);
}

template <class... Arguments>
int collective(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  const Heard heard(call, CallKind::collective, site);
  return next(arguments...);
}

// A request is what the call leaves behind.
template <class... Arguments>
int posts(CallKind kind, bool active, int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  if (call.is_outermost()) check_message(site.name, site.comm, site.peer);
  Heard heard(call, CallKind::other, site);
  const int code = next(arguments...);
  if (code == MPI_SUCCESS) heard.posts(kind, *last<1>(arguments...), active);
  return code;
}

template <class... Arguments>
int begins_collective(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  Heard heard(call, CallKind::collective, site);
  const int code = next(arguments...);
  if (code == MPI_SUCCESS) heard.posts(CallKind::collective, *last<1>(arguments...), true);
  return code;
}

template <class... Arguments>
int meets(CallKind kind, int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  if (call.is_outermost()) check_message(site.name, site.comm, site.peer);
  const Heard heard(call, kind, site);
  return next(arguments...);
}
template <class... Arguments>
int sends(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return meets(CallKind::send, next, site, arguments...);
}
template <class... Arguments>
int receives(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return meets(CallKind::receive, next, site, arguments...);
}
template <class... Arguments>
int probes(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return meets(CallKind::probe, next, site, arguments...);
}
template <class... Arguments>
int begins_to_send(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return posts(CallKind::send, true, next, site, arguments...);
}
template <class... Arguments>
int begins_to_receive(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return posts(CallKind::receive, true, next, site, arguments...);
}
template <class... Arguments>
int prepares_to_send(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return posts(CallKind::send, false, next, site, arguments...);
}
template <class... Arguments>
int prepares_to_receive(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return posts(CallKind::receive, false, next, site, arguments...);
}

template <class... Arguments>
int exchanges(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  if (call.is_outermost()) {
    check_message(site.name, site.comm, site.peer);
    check_message(site.name, site.comm, site.source);
  }
  const Exchange heard(call, site);
  return next(arguments...);
}

// Its request stands for a send and a receive, of which neither is counted.
template <class... Arguments>
int exchanges_later(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  if (call.is_outermost()) {
    check_message(site.name, site.comm, site.peer);
    check_message(site.name, site.comm, site.source);
  }
  const Heard heard(call, CallKind::other, site);
  heard.loses_count(CallKind::send, site.comm, site.peer, site.tag);
  heard.loses_count(CallKind::receive, site.comm, site.source, site.source_tag);
  return next(arguments...);
}

// It takes the message away from all receives, so it counts as one.
template <class... Rest>
int matches(int (*next)(int, int, MPI_Comm, Rest...), const Site& site, int peer, int tag, MPI_Comm comm,
            Rest... rest) {
  const Call call;
  if (call.is_outermost()) check_message(site.name, site.comm, site.peer);
  const Heard heard(call, CallKind::probe, site);
  const int code = next(peer, tag, comm, rest...);
  if (code == MPI_SUCCESS) heard.takes_message();
  return code;
}

template <class... Rest>
int asks(int (*next)(int, int, MPI_Comm, int*, Rest...), const Site& site, int peer, int tag, MPI_Comm comm, int* flag,
         Rest... rest) {
  const Call call;
  if (call.is_outermost()) check_message(site.name, site.comm, site.peer);
  Heard heard(call, CallKind::test, site);  // it does not wait as a probe does
  const int code = next(peer, tag, comm, flag, rest...);
  if (*flag == 0) heard.is_in_vain();
  return code;
}

template <class... Rest>
int asks_to_match(int (*next)(int, int, MPI_Comm, int*, Rest...), const Site& site, int peer, int tag, MPI_Comm comm,
                  int* flag, Rest... rest) {
  const Call call;
  if (call.is_outermost()) check_message(site.name, site.comm, site.peer);
  Heard heard(call, CallKind::test, site);
  const int code = next(peer, tag, comm, flag, rest...);
  if (*flag == 0) heard.is_in_vain();
  if (code == MPI_SUCCESS && *flag != 0) heard.takes_message();
  return code;
}

// Calls that ask whether something is over, and change nothing.
template <class Run>
int looks(const Site& site, MPI_Request about, const int* flag, Run run) {
  const Call call;
  Heard heard(call, CallKind::test, site, about);
  const int code = run();
  if (*flag == 0) heard.is_in_vain();
  return code;
}
inline int looks_at(int (*next)(MPI_Request, int*, MPI_Status*), const Site& site, MPI_Request request, int* flag,
                    MPI_Status* status) {
  return looks(site, request, flag, [=] { return next(request, flag, status); });
}
inline int looks_at_part(int (*next)(MPI_Request, int, int*), const Site& site, MPI_Request request, int part,
                         int* flag) {
  return looks(site, request, flag, [=] { return next(request, part, flag); });
}
inline int looks_at_window(int (*next)(MPI_Win, int*), const Site& site, MPI_Win window, int* flag) {
  return looks(site, MPI_REQUEST_NULL, flag, [=] { return next(window, flag); });
}

inline std::span<const MPI_Request> all_of(int length, const MPI_Request* requests) {
  return {requests, static_cast<std::size_t>(std::max(length, 0))};
}

// A call that completes some of these requests. `is_complete(i)` says of one that keeps its handle whether it is
// complete, after a call that has succeeded.
template <class Run, class IsComplete>
int completes(CallKind kind, const Site& site, std::span<const MPI_Request> requests, Run run, IsComplete is_complete) {
  const Call call;
  Heard heard(call, kind, site, requests.size() == 1 ? requests.front() : MPI_REQUEST_NULL);
  const auto act = is_test(kind) ? Requests::Act::asks : Requests::Act::waits;
  const Requests before(call, heard, act, requests);
  const int code = run();
  const bool any = before.look([&](std::size_t i) { return code == MPI_SUCCESS && is_complete(i); });
  if (is_test(kind) && !any) heard.is_in_vain();
  return code;
}

inline int waits(int (*next)(MPI_Request*, MPI_Status*), const Site& site, MPI_Request* request, MPI_Status* status) {
  return completes(
      CallKind::wait_all, site, {request, 1}, [=] { return next(request, status); }, [](auto) { return true; });
}
inline int tests(int (*next)(MPI_Request*, int*, MPI_Status*), const Site& site, MPI_Request* request, int* flag,
                 MPI_Status* status) {
  return completes(
      CallKind::test, site, {request, 1}, [=] { return next(request, flag, status); },
      [=](auto) { return *flag != 0; });
}
inline int waits_all(int (*next)(int, MPI_Request*, MPI_Status*), const Site& site, int length, MPI_Request* requests,
                     MPI_Status* statuses) {
  return completes(
      CallKind::wait_all, site, all_of(length, requests), [=] { return next(length, requests, statuses); },
      [](auto) { return true; });
}
inline int tests_all(int (*next)(int, MPI_Request*, int*, MPI_Status*), const Site& site, int length,
                     MPI_Request* requests, int* flag, MPI_Status* statuses) {
  return completes(
      CallKind::test_all, site, all_of(length, requests), [=] { return next(length, requests, flag, statuses); },
      [=](auto) { return *flag != 0; });
}
inline int waits_any(int (*next)(int, MPI_Request*, int*, MPI_Status*), const Site& site, int length,
                     MPI_Request* requests, int* index, MPI_Status* status) {
  return completes(
      CallKind::wait_any, site, all_of(length, requests), [=] { return next(length, requests, index, status); },
      [=](std::size_t i) { return std::cmp_equal(*index, i); });
}
inline int tests_any(int (*next)(int, MPI_Request*, int*, int*, MPI_Status*), const Site& site, int length,
                     MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  return completes(
      CallKind::test, site, all_of(length, requests), [=] { return next(length, requests, index, flag, status); },
      [=](std::size_t i) { return *flag != 0 && std::cmp_equal(*index, i); });
}
// `done` is MPI_UNDEFINED, which is negative, where there was no request to complete.
inline bool is_among(std::size_t i, const int* indices, int done) {
  return std::any_of(indices, indices + std::max(done, 0), [=](int index) { return std::cmp_equal(index, i); });
}
inline int waits_some(int (*next)(int, MPI_Request*, int*, int*, MPI_Status*), const Site& site, int length,
                      MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  return completes(
      CallKind::wait_any, site, all_of(length, requests),
      [=] { return next(length, requests, done, indices, statuses); },
      [=](std::size_t i) { return is_among(i, indices, *done); });
}
inline int tests_some(int (*next)(int, MPI_Request*, int*, int*, MPI_Status*), const Site& site, int length,
                      MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  return completes(
      CallKind::test, site, all_of(length, requests), [=] { return next(length, requests, done, indices, statuses); },
      [=](std::size_t i) { return is_among(i, indices, *done); });
}

inline int starts(int (*next)(MPI_Request*), const Site& site, MPI_Request* request) {
  const Call call;
  const Heard heard(call, CallKind::other, site, *request);
  const int code = next(request);
  if (code == MPI_SUCCESS) heard.starts({request, 1});
  return code;
}
inline int starts_all(int (*next)(int, MPI_Request*), const Site& site, int length, MPI_Request* requests) {
  const Call call;
  const Heard heard(call, CallKind::other, site);
  const int code = next(length, requests);
  if (code == MPI_SUCCESS) heard.starts(all_of(length, requests));
  return code;
}
inline int frees(int (*next)(MPI_Request*), const Site& site, MPI_Request* request) {
  const Call call;
  const Heard heard(call, CallKind::other, site, *request);
  const Requests before(call, heard, Requests::Act::asks, {request, 1});
  const int code = next(request);
  before.look([](auto) { return false; });
  return code;
}

// Whether the message was received or cancelled is known only later, if at all.
inline int cancels(int (*next)(MPI_Request*), const Site& site, MPI_Request* request) {
  const Call call;
  const Heard heard(call, CallKind::other, site, *request);
  heard.cancels(*request);
  return next(request);
}

// The call has ended with this code; the last of its arguments says where the new communicator is.
template <class... Rest>
void tell_of_made(const Call& call, int code, const Birth& birth, MPI_Comm parent, const Rest&... rest) {
  const MPI_Comm* const comm = last<1>(rest...);
  if (!call.is_outermost() || code != MPI_SUCCESS || *comm == MPI_COMM_NULL) return;
  call.is_heard() ? made(parent, *comm, birth) : made_outside(*comm);
}

template <class... Rest>
int makes_as(const Birth& birth, CallKind kind, int (*next)(MPI_Comm, Rest...), const Site& site, const Call& call,
             MPI_Comm parent, Rest... rest) {
  const Heard heard(call, kind, site);
  const int code = next(parent, rest...);
  tell_of_made(call, code, birth, parent, rest...);
  return code;
}

template <class... Rest>
int makes(int (*next)(MPI_Comm, Rest...), const Site& site, MPI_Comm parent, Rest... rest) {
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  const Birth birth = call.is_heard() ? next_child_of(parent) : Birth{};
  return makes_as(birth, CallKind::collective, next, site, call, parent, rest...);
}

// Two sides, each with a parent of its own: only the tag and the members are the same for both.
template <class... Rest>
int makes_of_two(int (*next)(MPI_Comm, Rest...), const Site& site, MPI_Comm parent, Rest... rest) {
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  const Birth birth{0, static_cast<std::uint64_t>(site.tag)};
  return makes_as(birth, CallKind::collective, next, site, call, parent, rest...);
}

// The parent's other ranks do not take part, and do not count it.
template <class... Rest>
int makes_of_some(int (*next)(MPI_Comm, Rest...), const Site& site, MPI_Comm parent, Rest... rest) {
  const Call call;
  const Birth birth{0, static_cast<std::uint64_t>(site.tag)};
  return makes_as(birth, CallKind::other, next, site, call, parent, rest...);
}

template <class... Rest>
int begins_to_make(int (*next)(MPI_Comm, Rest...), const Site& site, MPI_Comm parent, Rest... rest) {
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  Heard heard(call, CallKind::collective, site);
  const Birth birth = call.is_heard() ? next_child_of(parent) : Birth{};
  const int code = next(parent, rest...);
  if (!call.is_outermost() || code != MPI_SUCCESS) return code;
  if (!call.is_heard()) {
    made_outside(*last<2>(rest...));
    return code;
  }
  // Its handle is known at once, by Open MPI and by MPICH: their Fortran layers need that too.
  const MPI_Request request = *last<1>(rest...);
  begun(request, {parent, *last<2>(rest...), birth});
  heard.posts(CallKind::collective, request, true);
  return code;
}

// Whoever still has a session then waits there for all others.
inline int ends_mpi(int (*next)(), const Site& site) {
  const Call call;
  const Heard heard(call, CallKind::other, site);
  return next();
}

inline int names_comm(int (*next)(MPI_Comm, const char*), const Site& /*site*/, MPI_Comm comm, const char* name) {
  const Call call;
  const int code = next(comm, name);
  if (call.is_heard() && code == MPI_SUCCESS) named(comm, name);
  return code;
}

inline int ends(int (*next)(MPI_Comm*), const Site& /*site*/, MPI_Comm* comm) {
  const Call call;
  const MPI_Comm ending = *comm;
  const int code = next(comm);
  if (code != MPI_SUCCESS) return code;
  if (anybody_listens()) ended(ending);
  ended_outside(ending);
  return code;
}

}  // namespace cairn::tap
