#include "lost_rows.hpp"

#include <algorithm>
#include <thread>

#include "halo.hpp"

namespace heat {

namespace {

Block rows_of(const Block& whole, std::uint32_t part, std::uint32_t parts) {
  const Block mine = block_of(part, parts, whole.rows);
  return {whole.first + mine.first, mine.rows};
}

// The rows beside a part belong to other parts; those beside the block came from other ranks.
void exchange_halos(Plate& plate, const Block& whole, cairn::LostPart& part) {
  using examples::kDownward;
  using examples::kUpward;
  const std::size_t end = plate.block().first + plate.block().rows;
  const bool has_part_above = plate.block().first > whole.first;
  const bool has_part_below = end < whole.first + whole.rows;
  const bool has_rank_above = !has_part_above && whole.first > 0;
  const bool has_rank_below = !has_part_below && end < plate.extent().rows;
  if (has_part_above) part.send_to_part(part.part() - 1, kUpward, plate.first_row());
  if (has_part_below) part.send_to_part(part.part() + 1, kDownward, plate.last_row());
  if (has_rank_above) part.send(part.rank() - 1, kUpward, plate.first_row());
  if (has_rank_below) part.send(part.rank() + 1, kDownward, plate.last_row());
  if (has_rank_above) part.receive(part.rank() - 1, kDownward, plate.above());
  if (has_rank_below) part.receive(part.rank() + 1, kUpward, plate.below());
  if (has_part_above) part.receive_from_part(part.part() - 1, kDownward, plate.above());
  if (has_part_below) part.receive_from_part(part.part() + 1, kUpward, plate.below());
}

}  // namespace

std::vector<std::vector<std::byte>> split_rows(Plate& plate, std::uint32_t parts) {
  std::vector<std::vector<std::byte>> states;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const Block block = block_of(part, parts, plate.block().rows);
    const auto cells = std::span(plate.cells()).subspan(block.first * plate.extent().cols);
    const auto bytes = std::as_bytes(cells.first(block.rows * plate.extent().cols));
    states.emplace_back(bytes.begin(), bytes.end());
  }
  return states;
}

void merge_rows(std::span<const std::vector<std::byte>> parts, Plate& plate) {
  auto to = std::as_writable_bytes(std::span(plate.cells())).begin();
  for (const auto& part : parts) to = std::ranges::copy(part, to).out;
}

std::vector<std::byte> compute_rows(cairn::LostPart& part, const Options& options) {
  const Block whole = block_of(part.rank(), part.ranks(), options.extent.rows);
  Plate plate(options.extent, rows_of(whole, part.part(), part.parts()));
  std::ranges::copy(part.state(), std::as_writable_bytes(std::span(plate.cells())).begin());
  const auto pause =
      std::chrono::microseconds(options.pause) * plate.block().rows / std::max<std::size_t>(whole.rows, 1);
  while (part.next_step()) {
    if (plate.block().rows > 0) exchange_halos(plate, whole, part);
    plate.relax();
    if (pause.count() > 0) std::this_thread::sleep_for(pause);
  }
  const auto bytes = std::as_bytes(std::span(plate.cells()));
  return {bytes.begin(), bytes.end()};
}

}  // namespace heat
