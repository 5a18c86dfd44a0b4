// What the tap does around each kind of call in calls.txt: `next` is MPI's own, `site` says which call it is, and the
// rest are its arguments.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "intercept/act.hpp"
#include "intercept/communicator_acts.hpp"
#include "intercept/handler_acts.hpp"
#include "intercept/message_acts.hpp"
#include "intercept/next.hpp"
#include "intercept/request_acts.hpp"
#include "intercept/world_acts.hpp"
#include "tap/family.hpp"
#include "tap/heard.hpp"
#include "tap/world_guard.hpp"

namespace cairn::tap {

template <class Result, class... Arguments>
Result local(Result (*next)(Arguments...), const Site& /*site*/, Arguments... arguments) {
  return next(arguments...);
}

template <class... Arguments>
int within(CallKind kind, int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  const Heard heard(call, kind, site);
  return make(call, next, site, arguments...);
}

template <class... Arguments>
int marks(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return within(CallKind::opaque, next, site, arguments...);
}

// One that a loop may make until it finds what another rank has put into a window.
template <class... Arguments>
int asks_window(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  const Heard heard(call, CallKind::opaque, site);
  if (const int code = look_for_failures(call); code != MPI_SUCCESS) return code;
  return make(call, next, site, arguments...);
}

template <class... Arguments>
int marks_collective(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  const Heard heard(call, CallKind::opaque, site);
  return make(call, next, site, arguments...);
}

// On all ranks of this communicator the guard makes the same calls.
inline bool is_known_to_all(MPI_Comm comm) {
  const Member* const member = member_of(comm);
  return member != nullptr && member->all_know;
}

// A carrier makes it, unless its counts are large. `Carried` is one of tap::collectives.
template <class Carried, class... Arguments>
int carried(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  if (!is_anybody_interested()) return next(arguments...);
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  const Heard heard(call, CallKind::collective, site);
  if constexpr (requires { Carried{arguments...}; }) {
    if (Carrier* const one = carrier_of(call, site)) return one->collective(Carried{arguments...});
    const auto make_it = [&](RepairGuard& guard) {
      return is_known_to_all(site.comm) ? guard.collective(Carried{arguments...}) : std::nullopt;
    };
    if (const auto code = guarded(call, site, make_it)) return *code;
  }
  return make(call, next, site, arguments...);
}

// The same of a call in which a rank waits for its neighbours, and not for all ranks.
template <class Carried, class... Arguments>
int carried_with_neighbours(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  const Heard heard(call, CallKind::opaque, site);
  if constexpr (requires { Carried{arguments...}; })
    if (Carrier* const one = carrier_of(call, site)) return one->collective(Carried{arguments...});
  return make(call, next, site, arguments...);
}

struct NotCarried {
  NotCarried() = delete;
};
template <class... Arguments>
int collective(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return carried<NotCarried>(next, site, arguments...);
}

// The last argument says where the new window is.
template <class... Arguments>
int makes_window(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  const Heard heard(call, CallKind::collective, site);
  const int code = make(call, next, site, arguments...);
  if (code == MPI_SUCCESS && call.is_outermost() && error_judge() != nullptr) take_over_window(*last<1>(arguments...));
  RepairGuard* const guard = guard_of(call);
  if (guard == nullptr || code != MPI_SUCCESS || !is_known_to_all(site.comm)) return code;
  Carrier* const one = carrier_of(call, site);
  return guard->made(one == nullptr ? site.comm : one->stand_in(site.comm), *last<1>(arguments...));
}

// A call that waits for all ranks of a window.
inline int waits_on_window(int (*next)(int, MPI_Win), const Site& site, int asserted, MPI_Win window) {
  const Call call;
  const Heard heard(call, CallKind::opaque, site);
  if (RepairGuard* const guard = guard_of(call))
    if (const int code = guard->meets(window); code != MPI_SUCCESS) return code;
  return make(call, next, site, asserted, window);
}

// A call that waits for those to which this rank has opened the window.
inline int waits_for_exposure(int (*next)(MPI_Win), const Site& site, MPI_Win window) {
  const Call call;
  const Heard heard(call, CallKind::opaque, site);
  if (const auto code = await(call, site, [=](int* flag) { return MPI_Win_test(window, flag); })) return *code;
  return make(call, next, site, window);
}

// MPI keeps the memory of a window that is lost.
inline int frees_window(int (*next)(MPI_Win*), const Site& site, MPI_Win* window) {
  const Call call;
  const Heard heard(call, CallKind::opaque, site);
  if (RepairGuard* const guard = guard_of(call)) {
    if (guard->is_lost(*window)) {
      *window = MPI_WIN_NULL;
      return MPI_SUCCESS;
    }
    if (const int code = guard->frees(*window); code != MPI_SUCCESS) return code;
  }
  return make(call, next, site, window);
}

template <class... Arguments>
int begins_collective(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  Heard heard(call, CallKind::collective, site);
  const int code = make(call, next, site, arguments...);
  if (code == MPI_SUCCESS) heard.posts(CallKind::collective, *last<1>(arguments...), true);
  return code;
}

// Whoever still has a session then waits there for all others.
inline int ends_mpi(int (*next)(), const Site& site) {
  const Call call;
  const Heard heard(call, CallKind::other, site);
  return next();
}

}  // namespace cairn::tap
