#include "reshape/box.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cairn::reshape {

bool Box::empty() const {
  return std::ranges::any_of(extent, [](std::uint64_t length) { return length == 0; });
}

std::uint64_t Box::elements() const {
  if (empty()) return 0;
  std::uint64_t count = 1;
  for (const std::uint64_t length : extent) count *= length;
  return count;
}

Box whole(const std::vector<std::uint64_t>& shape) { return {std::vector<std::int64_t>(shape.size(), 0), shape}; }

Box range(std::uint64_t first, std::uint64_t count) { return {{static_cast<std::int64_t>(first)}, {count}}; }

bool is_sane(const Box& box) {
  constexpr auto kLimit = static_cast<std::int64_t>(kLargestIndex);
  return std::ranges::all_of(box.first, [](std::int64_t index) { return index >= -kLimit && index <= kLimit; }) &&
         std::ranges::all_of(box.extent, [](std::uint64_t length) { return length <= kLargestIndex; });
}

bool contains(const Box& outer, const Box& inner) {
  if (outer.dimensions() != inner.dimensions()) return false;
  for (std::size_t d = 0; d < outer.dimensions(); ++d) {
    if (inner.first[d] < outer.first[d] || inner.end(d) > outer.end(d)) return false;
  }
  return true;
}

std::optional<Box> intersection(const Box& a, const Box& b) {
  Box common = a;
  for (std::size_t d = 0; d < a.dimensions(); ++d) {
    const std::int64_t begin = std::max(a.first[d], b.first[d]);
    const std::int64_t end = std::min(a.end(d), b.end(d));
    if (begin >= end) return std::nullopt;
    common.first[d] = begin;
    common.extent[d] = static_cast<std::uint64_t>(end - begin);
  }
  return common;
}

// Cuts off, dimension by dimension, what lies before and behind `b`; what remains is the common part.
std::vector<Box> difference(const Box& a, const Box& b) {
  if (a.empty()) return {};
  const auto common = intersection(a, b);
  if (!common) return {a};
  std::vector<Box> rest;
  Box left = a;
  for (std::size_t d = 0; d < a.dimensions(); ++d) {
    if (left.first[d] < common->first[d]) {
      Box& before = rest.emplace_back(left);
      before.extent[d] = static_cast<std::uint64_t>(common->first[d] - left.first[d]);
    }
    if (common->end(d) < left.end(d)) {
      Box& behind = rest.emplace_back(left);
      behind.first[d] = common->end(d);
      behind.extent[d] = static_cast<std::uint64_t>(left.end(d) - common->end(d));
    }
    left.first[d] = common->first[d];
    left.extent[d] = common->extent[d];
  }
  return rest;
}

std::vector<Box> difference(const std::vector<Box>& boxes, const Box& b) {
  std::vector<Box> rest;
  for (const Box& box : boxes) std::ranges::move(difference(box, b), std::back_inserter(rest));
  return rest;
}

// Whole slices of the fast dimensions, as many of them as fit; in the slower ones one index each.
std::vector<Box> pieces(const Box& box, std::uint64_t most_elements) {
  if (box.empty()) return {};
  std::uint64_t slice = 1;
  std::size_t cut = box.dimensions();  // the dimension that is cut, and those before it are
  while (cut > 0 && box.extent[cut - 1] <= std::max<std::uint64_t>(1, most_elements) / slice)
    slice *= box.extent[--cut];
  if (cut == 0) return {box};
  --cut;
  const std::uint64_t step = std::max<std::uint64_t>(1, most_elements / slice);
  Box piece = box;
  for (std::size_t d = 0; d < cut; ++d) piece.extent[d] = 1;
  std::vector<Box> all;
  for (;;) {
    piece.extent[cut] = std::min(step, static_cast<std::uint64_t>(box.end(cut) - piece.first[cut]));
    all.push_back(piece);
    piece.first[cut] = piece.end(cut);
    std::size_t d = cut;
    while (piece.first[d] == box.end(d)) {
      if (d == 0) return all;
      piece.first[d] = box.first[d];
      ++piece.first[--d];
    }
  }
}

std::string text(const Box& box) {
  if (box.first.empty()) return "the value";
  std::string ranges;
  for (std::size_t d = 0; d < box.dimensions(); ++d) {
    ranges +=
        box.extent[d] == 1 ? fmt::format("[{}]", box.first[d]) : fmt::format("[{}..{}]", box.first[d], box.end(d) - 1);
  }
  return ranges;
}

}  // namespace cairn::reshape
