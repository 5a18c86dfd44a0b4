// Counts what a job communicates as it grows: whole jobs run as threads of this process, each once with and once
// without what is to be counted, so that the difference is exact. Counting holds on any machine; no clock is looked at.
#pragma once

#include <cstdint>

#include "base/ids.hpp"
#include "comm/thread_comm.hpp"

namespace cairn::test {

struct JobShape {
  std::uint32_t nodes = 0;
  std::uint32_t ranks_per_node = 0;  // one of them the head
  [[nodiscard]] std::uint32_t ranks() const { return nodes * ranks_per_node; }
};

// About `ranks` world ranks: eight a node from 32 ranks on, else at least two.
[[nodiscard]] JobShape shape_of(std::uint32_t ranks);

// The most of each count that any application rank, and any head, came to.
struct Busiest {
  Traffic rank;
  Traffic head;
};

// For one more snapshot that is raised to `level`, and to no other beyond L1; in a job that keeps one of each level, so
// that one is retired too.
[[nodiscard]] Busiest count_snapshot(const JobShape& shape, LevelId level);

// For restore(), of a snapshot that is safe at L1 to L3, with so many nodes lost; what is rebuilt in the background is
// counted too. And for all that comes before it and after it.
[[nodiscard]] Busiest count_restore(const JobShape& shape, std::uint32_t lost);
[[nodiscard]] Busiest count_open_and_finalize(const JobShape& shape);

// What the heads' inventory takes when every store has so many snapshots at L1 to L3; of any head but the one whose
// list was taken as the dictionary, and of that one.
struct InventoryCount {
  std::uint64_t bytes_given = 0;
  std::uint64_t bytes_given_by_one = 0;
  std::uint64_t collectives = 0;
  std::uint64_t messages = 0;
};
[[nodiscard]] InventoryCount count_inventory(std::uint32_t nodes, std::uint32_t snapshots);

}  // namespace cairn::test
