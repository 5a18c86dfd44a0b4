// What all acts have in common: the arguments of a call, and how it is made for the application.
#pragma once

#include <mpi.h>

#include <optional>
#include <tuple>
#include <type_traits>

#include "tap/carrier.hpp"
#include "tap/family.hpp"
#include "tap/hear.hpp"
#include "tap/interest.hpp"
#include "tap/repair_guard.hpp"

namespace cairn::tap {

// The argument that is `Back` places from the end.
template <std::size_t Back, class... Arguments>
auto last(const Arguments&... arguments) {
  return std::get<sizeof...(arguments) - Back>(std::tuple(arguments...));
}

// The carrier of this call, if the application makes it and there is one.
[[nodiscard]] inline Carrier* carrier_of(const Call& call) { return call.is_outermost() ? carrier() : nullptr; }
// The carrier that makes the call in MPI's place, if it is one of its messages.
[[nodiscard]] inline Carrier* carrier_of(const Call& call, const Site& site) {
  Carrier* const one = carrier_of(call);
  return one != nullptr && one->carries(site.comm) ? one : nullptr;
}

// What guards this call, if the application makes the call and there is one.
[[nodiscard]] inline RepairGuard* guard_of(const Call& call) { return call.is_outermost() ? repair_guard() : nullptr; }

// A carrier is told of a call that it does not make. MPI_SUCCESS: the call continues; otherwise it returns this code.
inline int report_other(Carrier& one, const Site& site) {
  return one.makes_other(
      {.name = site.name, .comm = site.comm, .lasts = site.lasts, .reaches_others = site.reaches_others});
}

// Has the guard make a call on a communicator of a family: `run` returns MPI's code, or nothing if MPI makes the call.
// A carrier is told of it, as of all calls that it does not carry.
template <class Run>
std::optional<int> guarded(const Call& call, const Site& site, Run run) {
  RepairGuard* const guard = guard_of(call);
  if (guard == nullptr || member_of(site.comm) == nullptr) return {};
  if (Carrier* const one = carrier_of(call))
    if (const int code = report_other(*one, site); code != MPI_SUCCESS) return code;
  return run(*guard);
}

// The application asks for something that may not have come. MPI_SUCCESS: the call continues; otherwise it returns this
// code, and nothing has come.
inline int look_for_failures(const Call& call, int* flag = nullptr) {
  RepairGuard* const guard = guard_of(call);
  const int code = guard == nullptr ? MPI_SUCCESS : guard->look();
  if (code != MPI_SUCCESS && flag != nullptr) *flag = 0;
  return code;
}

// The argument; of a communicator that the carrier carries, what it makes calls on. A call may have several.
template <class Argument>
Argument instead_of(const Argument& argument, const Carrier& carrier) {
  // Where handles are numbers, nothing tells a communicator from another argument, and there is no carrier.
  if constexpr (std::is_same_v<Argument, MPI_Comm> && std::is_pointer_v<MPI_Comm>)
    return carrier.carries(argument) ? carrier.stand_in(argument) : argument;
  else
    return argument;
}

// A group in place of the argument; null: the call keeps its own.
template <class Argument>
Argument instead_of_group(const Argument& argument, MPI_Group stand_in) {
  if constexpr (std::is_same_v<Argument, MPI_Group> && std::is_pointer_v<MPI_Group>)
    return stand_in == MPI_GROUP_NULL ? argument : stand_in;
  else
    return argument;
}

// Waits until `ask(&flag)` sets the flag, so that a failure ends the wait; nothing: MPI waits. Of calls that nobody
// carries.
template <class Ask>
std::optional<int> await(const Call& call, const Site& site, Ask ask) {
  RepairGuard* const guard = guard_of(call);
  if (guard == nullptr || !guard->looks_here()) return {};
  if (Carrier* const one = carrier_of(call))
    if (const int code = report_other(*one, site); code != MPI_SUCCESS) return code;
  while (true) {
    if (const int code = guard->look(); code != MPI_SUCCESS) return code;
    int flag = 0;
    if (const int code = ask(&flag); code != MPI_SUCCESS || flag != 0) return code;
  }
}

// Makes a call that nobody carries.
template <class Result, class... Arguments>
Result make(const Call& call, Result (*next)(Arguments...), const Site& site, Arguments... arguments) {
  Carrier* const one = carrier_of(call);
  if (one == nullptr) return next(arguments...);
  if (const int code = report_other(*one, site); code != MPI_SUCCESS) return code;
  return next(instead_of(arguments, *one)...);
}

}  // namespace cairn::tap
