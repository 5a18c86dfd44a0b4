// The neighbours of each rank in a graph that MPI_Dist_graph_create_adjacent has made. MPI tells each rank only
// its own, so other ranks keep them, too, for a replacement. Plain data and functions.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn::replay {

// Of one rank, in MPI's order.
struct Neighbourhood {
  std::vector<int> sources;  // ranks in the communicator
  std::vector<int> targets;
  bool has_weights = false;
  std::vector<int> source_weights;  // of as many, or none
  std::vector<int> target_weights;
  friend bool operator==(const Neighbourhood&, const Neighbourhood&) = default;
};
using Neighbourhoods = std::map<int, Neighbourhood>;  // by rank in the communicator

// How far after a rank those are that keep its neighbourhood, of so many ranks: the next one, and one that is likely to
// be on another node.
[[nodiscard]] std::vector<int> distances_to_keepers(int ranks);
// Whether a rank keeps that of another one, or its own.
[[nodiscard]] bool keeps(int keeper, int rank, int ranks);
// A rank whose neighbourhood is not among them; none: all are there, or there is no graph.
[[nodiscard]] std::optional<int> missing_in(const Neighbourhoods& graph, int ranks);

void encode(const Neighbourhood& one, ByteWriter& out);
// Whatever `in` holds, if it turns bad.
[[nodiscard]] Neighbourhood decode_neighbourhood(ByteReader& in);

}  // namespace cairn::replay
