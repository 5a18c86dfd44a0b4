// What the tap does around calls that complete requests, or start, free or look at them.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "intercept/act.hpp"
#include "tap/heard.hpp"

namespace cairn::tap {

// Calls that ask whether something is over, and change nothing.
template <class Run>
int looks(const Site& site, MPI_Request about, int* flag, Run run) {
  const Call call;
  Heard heard(call, CallKind::test, site, about);
  int code = look_for_failures(call, flag);
  if (code == MPI_SUCCESS) code = run(call);
  if (*flag == 0) heard.is_in_vain();
  return code;
}
inline int looks_at(int (*next)(MPI_Request, int*, MPI_Status*), const Site& site, MPI_Request request, int* flag,
                    MPI_Status* status) {
  return looks(site, request, flag, [=](const Call& call) {
    Carrier* const one = carrier_of(call);
    const bool carried = one != nullptr && one->has_any({&request, 1});
    return carried ? one->look_at(request, flag, status) : next(request, flag, status);
  });
}
inline int looks_at_part(int (*next)(MPI_Request, int, int*), const Site& site, MPI_Request request, int part,
                         int* flag) {
  return looks(site, request, flag, [=](const Call&) { return next(request, part, flag); });
}
inline int looks_at_window(int (*next)(MPI_Win, int*), const Site& site, MPI_Win window, int* flag) {
  return looks(site, MPI_REQUEST_NULL, flag, [=](const Call&) { return next(window, flag); });
}

inline std::span<MPI_Request> all_of(int length, MPI_Request* requests) {
  return {requests, static_cast<std::size_t>(std::max(length, 0))};
}

// A call that completes some of these requests. `is_complete(i)` says of one that keeps its handle whether it is
// complete, after a call that has succeeded.
template <class Run, class IsComplete>
int completes(CallKind kind, const Site& site, std::span<MPI_Request> requests, Which which, const Completed& completed,
              Run run, IsComplete is_complete) {
  if (!is_anybody_interested()) return run();
  const Call call;
  Heard heard(call, kind, site, requests.size() == 1 ? requests.front() : MPI_REQUEST_NULL);
  const auto act = is_test(kind) ? Requests::Act::asks : Requests::Act::waits;
  Requests before(call, heard, act, requests);
  Carrier* const one = carrier_of(call);
  const bool carried = one != nullptr && one->has_any(requests);
  std::optional<int> guarded;
  if (RepairGuard* const guard = guard_of(call); guard != nullptr && !carried)
    guarded = guard->complete(which, requests, completed);
  if (guarded) before.guard_knows();
  const int code = carried ? one->complete(which, requests, completed) : guarded ? *guarded : run();
  const bool any = before.look([&](std::size_t i) { return code == MPI_SUCCESS && is_complete(i); });
  if (is_test(kind) && !any) heard.is_in_vain();
  return code;
}

inline int waits(int (*next)(MPI_Request*, MPI_Status*), const Site& site, MPI_Request* request, MPI_Status* status) {
  return completes(
      CallKind::wait_all, site, {request, 1}, Which::one, {.statuses = status}, [=] { return next(request, status); },
      [](auto) { return true; });
}
inline int tests(int (*next)(MPI_Request*, int*, MPI_Status*), const Site& site, MPI_Request* request, int* flag,
                 MPI_Status* status) {
  return completes(
      CallKind::test, site, {request, 1}, Which::one, {.flag = flag, .statuses = status},
      [=] { return next(request, flag, status); }, [=](auto) { return *flag != 0; });
}
inline int waits_all(int (*next)(int, MPI_Request*, MPI_Status*), const Site& site, int length, MPI_Request* requests,
                     MPI_Status* statuses) {
  return completes(
      CallKind::wait_all, site, all_of(length, requests), Which::all, {.statuses = statuses},
      [=] { return next(length, requests, statuses); }, [](auto) { return true; });
}
inline int tests_all(int (*next)(int, MPI_Request*, int*, MPI_Status*), const Site& site, int length,
                     MPI_Request* requests, int* flag, MPI_Status* statuses) {
  return completes(
      CallKind::test_all, site, all_of(length, requests), Which::all, {.flag = flag, .statuses = statuses},
      [=] { return next(length, requests, flag, statuses); }, [=](auto) { return *flag != 0; });
}
inline int waits_any(int (*next)(int, MPI_Request*, int*, MPI_Status*), const Site& site, int length,
                     MPI_Request* requests, int* index, MPI_Status* status) {
  return completes(
      CallKind::wait_any, site, all_of(length, requests), Which::any, {.index = index, .statuses = status},
      [=] { return next(length, requests, index, status); }, [=](std::size_t i) { return std::cmp_equal(*index, i); });
}
inline int tests_any(int (*next)(int, MPI_Request*, int*, int*, MPI_Status*), const Site& site, int length,
                     MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  return completes(
      CallKind::test, site, all_of(length, requests), Which::any, {.flag = flag, .index = index, .statuses = status},
      [=] { return next(length, requests, index, flag, status); },
      [=](std::size_t i) { return *flag != 0 && std::cmp_equal(*index, i); });
}
// `done` is MPI_UNDEFINED, which is negative, where there was no request to complete.
inline bool is_among(std::size_t i, const int* indices, int done) {
  return std::any_of(indices, indices + std::max(done, 0), [=](int index) { return std::cmp_equal(index, i); });
}
inline int waits_some(int (*next)(int, MPI_Request*, int*, int*, MPI_Status*), const Site& site, int length,
                      MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  return completes(
      CallKind::wait_any, site, all_of(length, requests), Which::some,
      {.done = done, .indices = indices, .statuses = statuses},
      [=] { return next(length, requests, done, indices, statuses); },
      [=](std::size_t i) { return is_among(i, indices, *done); });
}
inline int tests_some(int (*next)(int, MPI_Request*, int*, int*, MPI_Status*), const Site& site, int length,
                      MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  return completes(
      CallKind::test, site, all_of(length, requests), Which::some,
      {.flag = done, .done = done, .indices = indices, .statuses = statuses},
      [=] { return next(length, requests, done, indices, statuses); },
      [=](std::size_t i) { return is_among(i, indices, *done); });
}

template <class Run>
int starts_requests(const Call& call, const Heard& heard, std::span<MPI_Request> requests, Run run) {
  Carrier* const one = carrier_of(call);
  const bool carried = one != nullptr && one->has_any(requests);
  const int code = carried ? one->start(requests) : run();
  if (code == MPI_SUCCESS) heard.starts(requests);
  return code;
}
inline int starts(int (*next)(MPI_Request*), const Site& site, MPI_Request* request) {
  if (!is_anybody_interested()) return next(request);
  const Call call;
  const Heard heard(call, CallKind::other, site, *request);
  return starts_requests(call, heard, {request, 1}, [=] { return next(request); });
}
inline int starts_all(int (*next)(int, MPI_Request*), const Site& site, int length, MPI_Request* requests) {
  if (!is_anybody_interested()) return next(length, requests);
  const Call call;
  const Heard heard(call, CallKind::other, site);
  return starts_requests(call, heard, all_of(length, requests), [=] { return next(length, requests); });
}
inline int frees(int (*next)(MPI_Request*), const Site& site, MPI_Request* request) {
  const Call call;
  const Heard heard(call, CallKind::other, site, *request);
  const Requests before(call, heard, Requests::Act::asks, {request, 1});
  if (RepairGuard* const guard = guard_of(call)) guard->completed(*request, false);  // before MPI uses it again
  Carrier* const one = carrier_of(call);
  const bool carried = one != nullptr && one->has_any({request, 1});
  const int code = carried ? one->free(request) : next(request);
  before.look([](auto) { return false; });
  return code;
}

// Whether the message was received or cancelled is known only later, if at all.
inline int cancels(int (*next)(MPI_Request*), const Site& site, MPI_Request* request) {
  const Call call;
  const Heard heard(call, CallKind::other, site, *request);
  heard.cancels(*request);
  Carrier* const one = carrier_of(call);
  return one != nullptr && one->has_any({request, 1}) ? one->cancel(request) : make(call, next, site, request);
}

}  // namespace cairn::tap
