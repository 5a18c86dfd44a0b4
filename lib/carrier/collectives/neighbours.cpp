// Between neighbours in the topology of a communicator, in the order that MPI defines (MPI 4.1, chapter 8.6): blocks
// that a rank sends to another one arrive there in this order, too.
#include <algorithm>
#include <functional>

#include "carrier/collectives/collectives.hpp"

namespace cairn::collectives {
namespace {

// By place in a list of neighbours.
using NeighbourTargets = std::function<Target(std::size_t)>;
using NeighbourSources = std::function<Source(std::size_t)>;

struct Neighbours {
  std::vector<int> sources;  // a neighbour that is not there is MPI_PROC_NULL
  std::vector<int> targets;
  // Of each dimension of a grid there are two: what a rank sends to the one before it, that one gets from the one after
  // it. So of two messages between the same ranks the one after is received first.
  bool are_in_pairs = false;
};

Neighbours in_grid(MPI_Comm comm) {
  int dimensions = 0;
  check(MPI_Cartdim_get(comm, &dimensions));
  Neighbours found{.sources = {}, .targets = {}, .are_in_pairs = true};
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    int before = MPI_PROC_NULL;
    int after = MPI_PROC_NULL;
    check(MPI_Cart_shift(comm, dimension, 1, &before, &after));
    found.sources.insert(found.sources.end(), {before, after});
  }
  found.targets = found.sources;
  return found;
}

Neighbours in_graph(MPI_Comm comm, int rank) {
  int count = 0;
  check(MPI_Graph_neighbors_count(comm, rank, &count));
  std::vector<int> all(static_cast<std::size_t>(count));
  check(MPI_Graph_neighbors(comm, rank, count, all.data()));
  return {.sources = all, .targets = all};
}

Neighbours in_distributed_graph(MPI_Comm comm) {
  int in = 0;
  int out = 0;
  int weighted = 0;
  check(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted));
  Neighbours found{.sources = std::vector<int>(static_cast<std::size_t>(in)),
                   .targets = std::vector<int>(static_cast<std::size_t>(out))};
  std::vector<int> in_weights(found.sources.size());
  std::vector<int> out_weights(found.targets.size());
  check(MPI_Dist_graph_neighbors(comm, in, found.sources.data(), in_weights.data(), out, found.targets.data(),
                                 out_weights.data()));
  return found;
}

Neighbours neighbours_of(MPI_Comm comm, int rank) {
  int kind = MPI_UNDEFINED;
  check(MPI_Topo_test(comm, &kind));
  if (kind == MPI_CART) return in_grid(comm);
  if (kind == MPI_GRAPH) return in_graph(comm, rank);
  if (kind != MPI_DIST_GRAPH) check(MPI_ERR_TOPOLOGY);
  return in_distributed_graph(comm);
}

void exchange_with_neighbours(MPI_Comm comm, const NeighbourSources& out, const NeighbourTargets& in,
                              Messages& messages) {
  const int me = messages.rank();
  const Neighbours neighbours = neighbours_of(comm, me);
  std::vector<Sent> sent;
  std::vector<Source> to_itself;
  for (std::size_t i = 0; i < neighbours.targets.size(); ++i) {
    const int to = neighbours.targets[i];
    if (to == me)
      to_itself.push_back(out(i));
    else if (to != MPI_PROC_NULL)
      sent.push_back({out(i), to});
  }
  std::vector<Received> received;
  std::vector<Target> from_itself;
  for (std::size_t i = 0; i < neighbours.sources.size(); ++i) {
    const std::size_t place = neighbours.are_in_pairs ? i ^ 1U : i;
    const int from = neighbours.sources[place];
    if (from == me)
      from_itself.push_back(in(place));
    else if (from != MPI_PROC_NULL)
      received.push_back({in(place), from});
  }
  if (to_itself.size() != from_itself.size()) check(MPI_ERR_TOPOLOGY);
  for (std::size_t i = 0; i < to_itself.size(); ++i) copy(to_itself[i], from_itself[i]);
  messages.exchange_all(sent, received);
}

// Block `i` of what comes from all neighbours, if the blocks are alike, or are not.
template <class Call>
NeighbourTargets alike_to(const Call& call) {
  return [&call](std::size_t i) {
    return Target{element_of(call.to, static_cast<MPI_Count>(i) * call.to_count, call.to_type), call.to_count,
                  call.to_type};
  };
}
template <class Call>
NeighbourTargets various_to(const Call& call) {
  return [&call](std::size_t i) {
    return Target{element_of(call.to, call.to_places[i], call.to_type), call.to_counts[i], call.to_type};
  };
}

}  // namespace

void make(const tap::collectives::Neighbor_allgather& call, Messages& messages) {
  const Source own{call.from, call.from_count, call.from_type};
  exchange_with_neighbours(
      call.comm, [&](std::size_t) { return own; }, alike_to(call), messages);
}

void make(const tap::collectives::Neighbor_allgatherv& call, Messages& messages) {
  const Source own{call.from, call.from_count, call.from_type};
  exchange_with_neighbours(
      call.comm, [&](std::size_t) { return own; }, various_to(call), messages);
}

void make(const tap::collectives::Neighbor_alltoall& call, Messages& messages) {
  exchange_with_neighbours(
      call.comm,
      [&](std::size_t i) {
        return Source{element_of(call.from, static_cast<MPI_Count>(i) * call.from_count, call.from_type),
                      call.from_count, call.from_type};
      },
      alike_to(call), messages);
}

void make(const tap::collectives::Neighbor_alltoallv& call, Messages& messages) {
  exchange_with_neighbours(
      call.comm,
      [&](std::size_t i) {
        return Source{element_of(call.from, call.from_places[i], call.from_type), call.from_counts[i], call.from_type};
      },
      various_to(call), messages);
}

void make(const tap::collectives::Neighbor_alltoallw& call, Messages& messages) {
  exchange_with_neighbours(
      call.comm,
      [&](std::size_t i) {
        return Source{static_cast<const std::byte*>(call.from) + call.from_places[i], call.from_counts[i],
                      call.from_types[i]};
      },
      [&](std::size_t i) {
        return Target{static_cast<std::byte*>(call.to) + call.to_places[i], call.to_counts[i], call.to_types[i]};
      },
      messages);
}

}  // namespace cairn::collectives
