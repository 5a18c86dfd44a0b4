// What it takes a job's heads to know what to restore after a failure, and from where: a cluster of heads, one rank a
// node, whose newest snapshot is safe at all levels, loses what only L1, L2, L3 or L4 can give back, and is opened
// again with the failure topology or without it. Counts hold on any machine; the seconds are of this one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "comm/thread_comm.hpp"
#include "support/counting_store.hpp"
#include "support/head_cluster.hpp"

namespace cairn::test {

// How the heads look for it.
struct Search {
  bool topology = true;      // else every level from the lowest up
  bool same_process = true;  // survivors remember what their stores hold
};

// The most that any head came to, from when it opens its store until the plan can be made.
struct PlanCost {
  Traffic traffic;
  Readings own;     // of its node's store
  Readings global;  // of the global one
  // Until the first byte of data has a place to go to; for L1, until all is there.
  double seconds = 0;
  // By all heads, until all shards are where they are needed.
  std::uint64_t copies_opened = 0;
  std::uint64_t parity_opened = 0;
  std::vector<std::uint32_t> wrong_ranks;  // whose shard did not come back as it was
};

// What the stores are: counts are the same, but files take the time that files take.
enum class StoreKind { memory, files };

class PlanScene {
 public:
  // At least 8: a full group.
  explicit PlanScene(std::uint32_t nodes, StoreKind kind = StoreKind::memory);
  [[nodiscard]] PlanCost cost(LevelId needed, const Search& search);

 private:
  HeadCluster cluster_;
  StoreKind kind_;
};

}  // namespace cairn::test
