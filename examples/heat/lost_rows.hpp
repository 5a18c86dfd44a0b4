// How spares help to recompute the steps of a lost rank of heat: each of them takes some rows of its block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cairn/lost_part.hpp>

#include "options.hpp"
#include "plate.hpp"

namespace heat {

// Inverse pair: the cells of a block, row by row, cut in parts of whole rows. The last parts may be empty.
[[nodiscard]] std::vector<std::vector<std::byte>> split_rows(Plate& plate, std::uint32_t parts);
void merge_rows(std::span<const std::vector<std::byte>> parts, Plate& plate);

// Computes a part through all steps that were lost. Sleeps after each step, for the part of the pause that its rows are
// of the block.
[[nodiscard]] std::vector<std::byte> compute_rows(cairn::LostPart& part, const Options& options);

}  // namespace heat
