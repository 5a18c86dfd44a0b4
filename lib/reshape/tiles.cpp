#include "reshape/tiles.hpp"

#include <algorithm>

namespace cairn::reshape {

Cut even_share(std::uint64_t elements, std::uint64_t part, std::uint64_t parts) {
  const std::uint64_t least = elements / parts;
  const std::uint64_t larger = elements % parts;
  return {part * least + std::min(part, larger), least + (part < larger ? 1 : 0)};
}

std::uint64_t part_of(std::uint64_t index, std::uint64_t elements, std::uint64_t parts) {
  const std::uint64_t least = elements / parts;
  const std::uint64_t larger = elements % parts;
  const std::uint64_t in_larger = larger * (least + 1);
  return index < in_larger ? index / (least + 1) : larger + (index - in_larger) / least;
}

// Doubles, again and again, the number of tiles in the dimension in which a tile is the longest, in boxes.
Tiles::Tiles(const std::vector<std::uint64_t>& shape, const std::vector<std::uint64_t>& mean, std::uint64_t most)
    : shape_(shape), counts_(shape.size(), 1) {
  const auto length_in_boxes = [&](std::size_t d) {
    return static_cast<double>(shape_[d]) / static_cast<double>(counts_[d]) /
           static_cast<double>(std::max<std::uint64_t>(1, mean[d]));
  };
  for (std::uint64_t tiles = 2; tiles <= most; tiles *= 2) {
    std::size_t longest = shape_.size();
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      if (counts_[d] > shape_[d] / 2) continue;
      if (longest == shape_.size() || length_in_boxes(d) > length_in_boxes(longest)) longest = d;
    }
    if (longest == shape_.size()) return;
    counts_[longest] *= 2;
  }
}

std::uint64_t Tiles::count() const {
  if (shape_.empty() || std::ranges::find(shape_, std::uint64_t{0}) != shape_.end()) return 0;
  std::uint64_t tiles = 1;
  for (const std::uint64_t in_dimension : counts_) tiles *= in_dimension;
  return tiles;
}

Box Tiles::tile(std::uint64_t number) const {
  Box box = whole(shape_);
  for (std::size_t d = shape_.size(); d-- > 0;) {
    const Cut cut = even_share(shape_[d], number % counts_[d], counts_[d]);
    number /= counts_[d];
    box.first[d] = static_cast<std::int64_t>(cut.first);
    box.extent[d] = cut.count;
  }
  return box;
}

void Tiles::touched(const Box& box, const std::function<void(std::uint64_t)>& visit) const {
  std::vector<std::uint64_t> low(shape_.size());
  std::vector<std::uint64_t> high(shape_.size());
  for (std::size_t d = 0; d < shape_.size(); ++d) {
    low[d] = part_of(static_cast<std::uint64_t>(box.first[d]), shape_[d], counts_[d]);
    high[d] = part_of(static_cast<std::uint64_t>(box.end(d) - 1), shape_[d], counts_[d]);
  }
  std::vector<std::uint64_t> at = low;
  for (;;) {
    std::uint64_t number = 0;
    for (std::size_t d = 0; d < shape_.size(); ++d) number = number * counts_[d] + at[d];
    visit(number);
    std::size_t d = shape_.size();
    while (d > 0 && at[d - 1] == high[d - 1]) {
      at[d - 1] = low[d - 1];
      --d;
    }
    if (d == 0) return;
    ++at[d - 1];
  }
}

}  // namespace cairn::reshape
