// What the tap does around calls that make communicators, name them and end them. See acts.hpp.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include "base/mix.hpp"
#include "intercept/act.hpp"
#include "intercept/next.hpp"
#include "tap/family.hpp"
#include "tap/heard.hpp"
#include "tap/world_guard.hpp"

namespace cairn::tap {

// The call has ended with this code; the last of its arguments says where the new communicator is.
template <class... Rest>
void tell_of_made(const Call& call, int code, const Birth& birth, MPI_Comm parent, const Rest&... rest) {
  const MPI_Comm* const comm = last<1>(rest...);
  if (!call.is_outermost() || code != MPI_SUCCESS || *comm == MPI_COMM_NULL) return;
  call.is_heard() ? made(parent, *comm, birth) : made_outside(*comm);
}

// Whether the arguments make this rank a member of a new communicator.
template <class... Rest>
bool makes_a_member(MPI_Comm /*parent*/, Rest... /*rest*/) {
  return true;
}
inline bool makes_a_member(MPI_Comm /*parent*/, int color, int /*key*/, MPI_Comm* /*made*/) {
  return color != MPI_UNDEFINED;
}
inline bool makes_a_member(MPI_Comm /*parent*/, int how, int /*key*/, MPI_Info /*info*/, MPI_Comm* /*made*/) {
  return how != MPI_UNDEFINED;
}
inline bool makes_a_member(MPI_Comm parent, int dimensions, const int lengths[], const int /*periodic*/[],
                           int /*reorder*/, MPI_Comm* /*made*/) {
  std::int64_t places = 1;
  for (int i = 0; i < dimensions; ++i) places *= lengths[i];
  int rank = 0;
  PMPI_Comm_rank(parent, &rank);
  return rank < places;
}
inline bool is_in(MPI_Group group) {
  int rank = MPI_UNDEFINED;
  MPI_Group_rank(group, &rank);
  return rank != MPI_UNDEFINED;
}
inline bool makes_a_member(MPI_Comm /*parent*/, MPI_Group group, MPI_Comm* /*made*/) { return is_in(group); }

// The group that they name.
template <class... Rest>
MPI_Group group_of(MPI_Comm /*parent*/, Rest... /*rest*/) {
  return MPI_GROUP_NULL;
}
inline MPI_Group group_of(MPI_Comm /*parent*/, MPI_Group group, MPI_Comm* /*made*/) { return group; }

// What the arguments hold that is alike on all members of a new communicator, as one number.
inline std::uint64_t mixed(std::initializer_list<std::span<const int>> lists) {
  std::uint64_t sum = 0;
  for (const auto list : lists)
    for (const int value : list) sum = mix(sum ^ static_cast<std::uint32_t>(value));
  return sum;
}
template <class... Rest>
std::uint64_t alike(MPI_Comm /*parent*/, Rest... /*rest*/) {
  return 0;
}
inline std::uint64_t alike(MPI_Comm /*parent*/, int color, int /*key*/, MPI_Comm* /*made*/) {
  return mixed({{&color, 1}});
}
inline std::uint64_t alike(MPI_Comm /*parent*/, int how, int /*key*/, MPI_Info /*info*/, MPI_Comm* /*made*/) {
  return mixed({{&how, 1}});
}
inline std::uint64_t alike(MPI_Comm /*parent*/, int dimensions, const int lengths[], const int periodic[], int reorder,
                           MPI_Comm* /*made*/) {
  const auto count = static_cast<std::size_t>(dimensions);
  return mixed({{lengths, count}, {periodic, count}, {&reorder, 1}});
}
inline std::uint64_t alike(MPI_Comm parent, const int kept[], MPI_Comm* /*made*/) {
  int dimensions = 0;
  MPI_Cartdim_get(parent, &dimensions);
  return mixed({{kept, static_cast<std::size_t>(dimensions)}});
}

// `describe()`: what a carrier is told of the call.
template <class Describe, class... Rest>
int makes_as(const Birth& birth, CallKind kind, Describe describe, int (*next)(MPI_Comm, Rest...), const Site& site,
             const Call& call, MPI_Comm parent, Rest... rest) {
  const Heard heard(call, kind, site);
  std::optional<int> carried;
  if (Carrier* const one = carrier_of(call, site))
    carried = one->makes_communicator(describe(), last<1>(rest...), [&](MPI_Comm of, MPI_Group group) {
      return next(of, instead_of_group(rest, group)...);
    });
  const int code = carried ? *carried : make(call, next, site, parent, rest...);
  tell_of_made(call, code, birth, parent, rest...);
  return code;
}

template <class Describe, class... Rest>
int makes_of_all(Describe describe, int (*next)(MPI_Comm, Rest...), const Site& site, MPI_Comm parent, Rest... rest) {
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  const Birth birth = call.is_heard() ? next_child_of(parent) : Birth{};
  return makes_as(birth, CallKind::collective, describe, next, site, call, parent, rest...);
}
template <class... Rest>
int makes_kind(NewCommunicator::Kind kind, int (*next)(MPI_Comm, Rest...), const Site& site, MPI_Comm parent,
               Rest... rest) {
  const auto describe = [&] {
    return NewCommunicator{.call = site.name,
                           .kind = kind,
                           .parent = parent,
                           .is_in = makes_a_member(parent, rest...),
                           .alike = alike(parent, rest...),
                           .group = group_of(parent, rest...)};
  };
  return makes_of_all(describe, next, site, parent, rest...);
}
template <class... Rest>
int makes(int (*next)(MPI_Comm, Rest...), const Site& site, MPI_Comm parent, Rest... rest) {
  return makes_kind(NewCommunicator::Kind::plain, next, site, parent, rest...);
}
template <class... Rest>
int duplicates(int (*next)(MPI_Comm, Rest...), const Site& site, MPI_Comm parent, Rest... rest) {
  return makes_kind(NewCommunicator::Kind::duplicate, next, site, parent, rest...);
}
template <class... Rest>
int makes_grid(int (*next)(MPI_Comm, Rest...), const Site& site, MPI_Comm parent, Rest... rest) {
  return makes_kind(NewCommunicator::Kind::topology, next, site, parent, rest...);
}

// As many as the call says, which may be none.
inline std::span<const int> list(const int* values, int count) {
  return {values, static_cast<std::size_t>(std::max(count, 0))};
}

inline int makes_graph(int (*next)(MPI_Comm, int, const int[], const int[], int, MPI_Comm*), const Site& site,
                       MPI_Comm parent, int nodes, const int index[], const int edges[], int reorder, MPI_Comm* made) {
  const auto describe = [&] {
    int rank = 0;
    PMPI_Comm_rank(parent, &rank);
    const auto ends = list(index, nodes);
    return NewCommunicator{.call = site.name,
                           .kind = NewCommunicator::Kind::topology,
                           .parent = parent,
                           .is_in = rank < nodes,
                           .alike = mixed({ends, list(edges, ends.empty() ? 0 : ends.back()), {&reorder, 1}})};
  };
  return makes_of_all(describe, next, site, parent, nodes, index, edges, reorder, made);
}

// Each rank gives its own neighbours.
inline int makes_of_neighbours(int (*next)(MPI_Comm, int, const int[], const int[], int, const int[], const int[],
                                           MPI_Info, int, MPI_Comm*),
                               const Site& site, MPI_Comm parent, int indegree, const int sources[],
                               const int source_weights[], int outdegree, const int targets[],
                               const int target_weights[], MPI_Info info, int reorder, MPI_Comm* made) {
  const auto describe = [&] {
    const int weighted = source_weights != MPI_UNWEIGHTED && target_weights != MPI_UNWEIGHTED ? 1 : 0;
    return NewCommunicator{
        .call = site.name,
        .kind = NewCommunicator::Kind::topology,
        .parent = parent,
        .alike = mixed({{&weighted, 1}, {&reorder, 1}}),
        .neighbours = GivenNeighbours{weighted != 0, list(sources, indegree), list(source_weights, weighted * indegree),
                                      list(targets, outdegree), list(target_weights, weighted * outdegree)}};
  };
  return makes_of_all(describe, next, site, parent, indegree, sources, source_weights, outdegree, targets,
                      target_weights, info, reorder, made);
}

// A call that no carrier makes. `birth`: of the new communicator.
template <class... Rest>
int makes_in_mpi(const Birth& birth, int (*next)(MPI_Comm, Rest...), const Site& site, const Call& call,
                 MPI_Comm parent, Rest... rest) {
  if (call.is_outermost()) check_collective(site.name, site.comm);
  const Heard heard(call, CallKind::collective, site);
  const int code = make(call, next, site, parent, rest...);
  tell_of_made(call, code, birth, parent, rest...);
  return code;
}

// Each rank gives edges of any ranks, so MPI alone knows them all.
template <class... Rest>
int makes_of_edges(int (*next)(MPI_Comm, Rest...), const Site& site, MPI_Comm parent, Rest... rest) {
  const Call call;
  return makes_in_mpi(call.is_heard() ? next_child_of(parent) : Birth{}, next, site, call, parent, rest...);
}

// Two groups, each with a parent of its own: only the tag and the members are the same for both.
inline int makes_of_two(int (*next)(MPI_Comm, int, MPI_Comm, int, int, MPI_Comm*), const Site& site, MPI_Comm parent,
                        int leader, MPI_Comm bridge, int remote_leader, int tag, MPI_Comm* made) {
  const Call call;
  // The other group's parent may be in no family.
  const Birth birth{.number = static_cast<std::uint64_t>(tag), .all_know = false};
  return makes_in_mpi(birth, next, site, call, parent, leader, bridge, remote_leader, tag, made);
}

// The parent's other ranks do not take part, and do not count it.
inline int makes_of_some(int (*next)(MPI_Comm, MPI_Group, int, MPI_Comm*), const Site& site, MPI_Comm parent,
                         MPI_Group group, int tag, MPI_Comm* made) {
  const Call call;
  if (call.is_outermost()) check_part(site.name, site.comm);
  const Birth birth{.number = static_cast<std::uint64_t>(site.tag)};
  const auto describe = [&] {
    return NewCommunicator{.call = site.name,
                           .parent = parent,
                           .is_in = is_in(group),
                           .alike = mixed({{&tag, 1}}),
                           .group = group,
                           .is_of_group = true};
  };
  return makes_as(birth, CallKind::other, describe, next, site, call, parent, group, tag, made);
}

template <class... Rest>
int begins_to_make(int (*next)(MPI_Comm, Rest...), const Site& site, MPI_Comm parent, Rest... rest) {
  const Call call;
  if (call.is_outermost()) check_collective(site.name, site.comm);
  Heard heard(call, CallKind::collective, site);
  const Birth birth = call.is_heard() ? next_child_of(parent) : Birth{};
  const int code = make(call, next, site, parent, rest...);
  if (!call.is_outermost() || code != MPI_SUCCESS) return code;
  if (!call.is_heard()) {
    made_outside(*last<2>(rest...));
    return code;
  }
  // Its handle is known at once, by Open MPI and by MPICH: their Fortran layers need that too.
  const MPI_Request request = *last<1>(rest...);
  begun(request, {parent, *last<2>(rest...), birth});
  heard.posts(CallKind::collective, request, true);
  if (RepairGuard* const guard = guard_of(call)) guard->completed(request, false);  // no memory of the application
  return code;
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
  const RepairGuard* const guard = guard_of(call);
  Carrier* const carrier = carrier_of(call);
  if (carrier != nullptr) carrier->frees(ending);
  if (guard != nullptr && guard->keeps(ending))
    *comm = MPI_COMM_NULL;
  else if (const int code = next(comm); code != MPI_SUCCESS)
    return code;
  if (anybody_listens()) ended(ending);
  if (carrier != nullptr) carrier->freed(ending);
  ended_outside(ending);
  return MPI_SUCCESS;
}

}  // namespace cairn::tap
