// Who waits for whom, with "all of them" and "any of them". Ranks are numbers from 0. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hang/need.hpp"

namespace cairn::hang {

// What one thread waits for: all of these needs (places in WaitGraph::needs), or any of them.
struct Wait {
  std::vector<std::size_t> needs;
  bool any = false;
};

struct WaitGraph {
  std::vector<Need> needs;
  std::vector<std::vector<Wait>> waits;  // by rank, then by thread; empty: it waits for nobody
};

using RankSet = std::vector<bool>;

// Each function counts the needs that are at least as certain as it is told; the others count as met.

// Which ranks can continue if those in `free` do: they are `free`, or one of their threads has all that it waits for.
enum class Never { stays, counts_as_met };
[[nodiscard]] RankSet able(const WaitGraph& graph, RankSet free, Never never, Certainty least);

// Ranks of `within` that wait for one of `targets`, directly or by others of `within`; a target only if it waits
// itself for one.
[[nodiscard]] RankSet waiting_for(const WaitGraph& graph, const std::vector<std::uint32_t>& targets,
                                  const RankSet& within, Certainty least);

// A shortest circle of ranks of `within` that wait for each other, from the lowest of its ranks; empty: there is none.
struct Step {
  std::uint32_t rank = 0;
  std::size_t need = 0;  // for which it waits for the next one
};
[[nodiscard]] std::vector<Step> shortest_cycle(const WaitGraph& graph, const RankSet& within, Certainty least);

}  // namespace cairn::hang
