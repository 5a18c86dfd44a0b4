// How the elements of a global array are dealt out: as equal shares in order, and as tiles of a directory. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "reshape/box.hpp"

namespace cairn::reshape {

// Share `part` of `parts` of so many elements: the first ones have one element more where they do not divide.
struct Cut {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  friend bool operator==(const Cut&, const Cut&) = default;
};
[[nodiscard]] Cut even_share(std::uint64_t elements, std::uint64_t part, std::uint64_t parts);
// The part that element `index` is in. Requires: index < elements.
[[nodiscard]] std::uint64_t part_of(std::uint64_t index, std::uint64_t elements, std::uint64_t parts);

// An array in a grid of tiles, at most so many. A directory has one member for each tile, which knows all boxes that
// touch it. The tiles have the shape of the boxes, as far as possible. Ranges of the array's linear order would not do:
// each of N columns touches each of M ranges of rows.
class Tiles {
 public:
  // `mean`: the mean extent of the boxes in each dimension; 0 counts as 1.
  Tiles(const std::vector<std::uint64_t>& shape, const std::vector<std::uint64_t>& mean, std::uint64_t most);

  [[nodiscard]] std::uint64_t count() const;  // 0 of an array without elements
  [[nodiscard]] Box tile(std::uint64_t number) const;
  // Calls `visit` with the number of each tile that the box touches. Requires: the box is not empty, and in the array.
  void touched(const Box& box, const std::function<void(std::uint64_t)>& visit) const;

 private:
  std::vector<std::uint64_t> shape_;
  std::vector<std::uint64_t> counts_;  // in each dimension
};

}  // namespace cairn::reshape
