#include "replay/neighbourhood.hpp"

#include <algorithm>

namespace cairn::replay {

std::vector<int> distances_to_keepers(int ranks) {
  if (ranks < 2) return {};
  if (ranks < 4) return {1};
  return {1, ranks / 2};
}

bool keeps(int keeper, int rank, int ranks) {
  return keeper == rank || std::ranges::any_of(distances_to_keepers(ranks),
                                               [&](int distance) { return (rank + distance) % ranks == keeper; });
}

std::optional<int> missing_in(const Neighbourhoods& graph, int ranks) {
  for (int rank = 0; rank < ranks && !graph.empty(); ++rank)
    if (!graph.contains(rank)) return rank;
  return {};
}

void encode(const Neighbourhood& one, ByteWriter& out) {
  out.put(one.has_weights);
  for (const auto* const list : {&one.sources, &one.targets, &one.source_weights, &one.target_weights}) {
    out.put(static_cast<std::uint64_t>(list->size()));
    for (const int value : *list) out.put(value);
  }
}

Neighbourhood decode_neighbourhood(ByteReader& in) {
  Neighbourhood one;
  one.has_weights = in.get<bool>();
  for (auto* const list : {&one.sources, &one.targets, &one.source_weights, &one.target_weights}) {
    const auto count = in.get<std::uint64_t>();
    for (std::uint64_t i = 0; i < count && in.good(); ++i) list->push_back(in.get<int>());
  }
  return one;
}

}  // namespace cairn::replay
