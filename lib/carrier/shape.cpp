#include "carrier/shape.hpp"

#include "mpi/mpi_request.hpp"
#include "mpi/place_in.hpp"

namespace cairn {
namespace {

using replay::ChannelFacts;

void note_graph(MPI_Comm comm, ChannelFacts& facts) {
  int nodes = 0;
  int edges = 0;
  MPI_Graphdims_get(comm, &nodes, &edges);
  facts.index.resize(static_cast<std::size_t>(nodes));
  facts.edges.resize(static_cast<std::size_t>(edges));
  MPI_Graph_get(comm, nodes, edges, facts.index.data(), facts.edges.data());
}

void note_grid(MPI_Comm comm, ChannelFacts& facts) {
  int dimensions = 0;
  MPI_Cartdim_get(comm, &dimensions);
  facts.lengths.resize(static_cast<std::size_t>(dimensions));
  facts.periodic.resize(facts.lengths.size());
  std::vector<int> place(facts.lengths.size());
  MPI_Cart_get(comm, dimensions, facts.lengths.data(), facts.periodic.data(), place.data());
}

// `graph` is of the same ranks as `plain`. Collective. Returns MPI's code.
int make_distributed_graph(const replay::Neighbourhood& mine, MPI_Comm plain, MPI_Comm* graph) {
  const auto weights = [&](const std::vector<int>& values) {
    if (!mine.has_weights) return static_cast<const int*>(MPI_UNWEIGHTED);
    return values.empty() ? static_cast<const int*>(MPI_WEIGHTS_EMPTY) : values.data();
  };
  return MPI_Dist_graph_create_adjacent(plain, static_cast<int>(mine.sources.size()), mine.sources.data(),
                                        weights(mine.source_weights), static_cast<int>(mine.targets.size()),
                                        mine.targets.data(), weights(mine.target_weights), MPI_INFO_NULL, 0, graph);
}

}  // namespace

void note_shape(MPI_Comm comm, ChannelFacts& facts) {
  int kind = MPI_UNDEFINED;
  MPI_Topo_test(comm, &kind);
  if (kind == MPI_CART) note_grid(comm, facts);
  if (kind == MPI_GRAPH) note_graph(comm, facts);
}

Result<MPI_Comm> give_shape(const ChannelFacts& facts, MPI_Comm plain) {
  MPI_Comm comm = plain;
  const auto dimensions = static_cast<int>(facts.lengths.size());
  const auto nodes = static_cast<int>(facts.index.size());
  int code = MPI_SUCCESS;
  if (dimensions > 0)
    code = MPI_Cart_create(plain, dimensions, facts.lengths.data(), facts.periodic.data(), 0, &comm);
  else if (nodes > 0)
    code = MPI_Graph_create(plain, nodes, facts.index.data(), facts.edges.data(), 0, &comm);
  else if (!facts.graph.empty())
    code = make_distributed_graph(facts.graph.at(rank_in(plain)), plain, &comm);
  if (code != MPI_SUCCESS) return fail(mpi_error(code, "a communicator with a topology"));
  return comm;
}

}  // namespace cairn
