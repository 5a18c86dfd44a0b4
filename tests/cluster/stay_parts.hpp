// How a rank of a StayJob computes, alone or in parts: of each peer one part has the messages, and the first part has
// the state. Pure, but for the messages.
#pragma once

#include <cstdint>
#include <vector>

#include <cairn/lost_part.hpp>

#include "base/bytes.hpp"
#include "replay/program.hpp"

namespace cairn::test {

// The operation that comes next, and the state: what a rank protects.
using StayCells = std::vector<std::uint64_t>;
[[nodiscard]] StayCells first_cells(std::uint32_t rank);

// Of a message that is sent at an operation.
[[nodiscard]] Buffer payload_at(const StayCells& cells, std::uint64_t operation, std::uint64_t words);
// A message that was received, in the order of the calls; and one from any rank, in whatever order.
void take(StayCells& cells, std::uint32_t from, Bytes payload);
void add(StayCells& cells, std::uint32_t from, Bytes payload);

// Of a program that never receives from any rank, and takes one step from snapshot to snapshot.
[[nodiscard]] ComputePart part_computer(const Program& program);
[[nodiscard]] SplitState part_splitter(const StayCells& cells);
[[nodiscard]] MergeState part_merger(StayCells& cells);

}  // namespace cairn::test
