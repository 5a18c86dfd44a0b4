// A box of elements: a range of indices in each dimension of an array, slowest dimension first. Indices may be
// negative: a rank's memory may begin outside the global array, with the ghosts of an outer side. Plain data and pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cairn::reshape {

// No index and no number of elements is larger in absolute value. Sums and differences of two then do not overflow.
inline constexpr std::uint64_t kLargestIndex = 1ULL << 57U;

struct Box {
  std::vector<std::int64_t> first;
  std::vector<std::uint64_t> extent;  // as long as `first`

  [[nodiscard]] std::size_t dimensions() const { return first.size(); }
  // One more than the last index.
  [[nodiscard]] std::int64_t end(std::size_t dimension) const {
    return first[dimension] + static_cast<std::int64_t>(extent[dimension]);
  }
  [[nodiscard]] bool empty() const;
  // Requires: the product does not overflow, as for each part of a region.
  [[nodiscard]] std::uint64_t elements() const;
  friend bool operator==(const Box&, const Box&) = default;
};

// All of an array of that shape.
[[nodiscard]] Box whole(const std::vector<std::uint64_t>& shape);
// Elements `first` … `first + count` of a dimension that is alone.
[[nodiscard]] Box range(std::uint64_t first, std::uint64_t count);
// Whether the indices are within the limit above, and all `extent`s too.
[[nodiscard]] bool is_sane(const Box& box);
[[nodiscard]] bool contains(const Box& outer, const Box& inner);

// None: no element is in both.
[[nodiscard]] std::optional<Box> intersection(const Box& a, const Box& b);
// What of `a` is not in `b`, as boxes without common elements.
[[nodiscard]] std::vector<Box> difference(const Box& a, const Box& b);
// The same for many: what of all `boxes` is not in `b`.
[[nodiscard]] std::vector<Box> difference(const std::vector<Box>& boxes, const Box& b);
// The box in pieces of at most so many elements, at least 1, in rising order.
[[nodiscard]] std::vector<Box> pieces(const Box& box, std::uint64_t most_elements);

// "[0..9][20]": the first and the last index of each dimension. Of a scalar: "the value".
[[nodiscard]] std::string text(const Box& box);

void fields(auto& io, Box& m) { io(m.first), io(m.extent), io.check(m.first.size() == m.extent.size()); }

}  // namespace cairn::reshape
