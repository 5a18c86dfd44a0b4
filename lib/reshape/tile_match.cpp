#include "reshape/tile_match.hpp"

#include <algorithm>
#include <numeric>

namespace cairn::reshape {
namespace {

// Boxes in the order of one dimension, so that those that touch a box are found without looking at all.
class SortedBoxes {
 public:
  // Requires: `boxes` outlives it.
  explicit SortedBoxes(const std::vector<Box>& boxes) : boxes_(boxes), order_(boxes.size()) {
    if (boxes.empty()) return;
    axis_ = sharpest_axis();
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, {}, [this](std::size_t i) { return boxes_[i].first[axis_]; });
    for (const std::size_t i : order_)
      furthest_.push_back(std::max(furthest_.empty() ? boxes_[i].end(axis_) : furthest_.back(), boxes_[i].end(axis_)));
  }

  // Numbers of the boxes that have elements in common with `box`, in rising order.
  [[nodiscard]] std::vector<std::size_t> touching(const Box& box) const {
    std::vector<std::size_t> found;
    if (order_.empty() || box.empty()) return found;
    const auto begin = std::ranges::upper_bound(furthest_, box.first[axis_]) - furthest_.begin();
    for (auto i = static_cast<std::size_t>(begin); i < order_.size(); ++i) {
      if (boxes_[order_[i]].first[axis_] >= box.end(axis_)) break;
      if (intersection(boxes_[order_[i]], box)) found.push_back(order_[i]);
    }
    std::ranges::sort(found);
    return found;
  }

 private:
  // The dimension in which the boxes are the shortest, compared with all that they span together.
  [[nodiscard]] std::size_t sharpest_axis() const {
    std::size_t best = 0;
    double least = 0;
    for (std::size_t d = 0; d < boxes_.front().dimensions(); ++d) {
      double sum = 0;
      std::int64_t begin = boxes_.front().first[d];
      std::int64_t end = boxes_.front().end(d);
      for (const Box& box : boxes_) {
        sum += static_cast<double>(box.extent[d]);
        begin = std::min(begin, box.first[d]);
        end = std::max(end, box.end(d));
      }
      const double share = sum / std::max(1.0, static_cast<double>(end - begin));
      if (d == 0 || share < least) {
        best = d;
        least = share;
      }
    }
    return best;
  }

  const std::vector<Box>& boxes_;
  std::vector<std::size_t> order_;
  std::vector<std::int64_t> furthest_;  // the end of all up to here, in that order
  std::size_t axis_ = 0;
};

Box empty_box(std::size_t dimensions) {
  return {std::vector<std::int64_t>(dimensions, 0), std::vector<std::uint64_t>(dimensions, 0)};
}

Findings check_cover(const Box& tile, const std::vector<WantedBox>& wanted) {
  std::vector<Box> owned;
  std::uint64_t covered = 0;
  for (const WantedBox& one : wanted) {
    owned.push_back(intersection(one.owned, tile).value_or(empty_box(tile.dimensions())));
    covered += owned.back().elements();
  }
  const SortedBoxes sorted(owned);
  for (std::size_t i = 0; i < owned.size(); ++i) {
    for (const std::size_t other : sorted.touching(owned[i])) {
      if (other == i) continue;
      const std::size_t low = std::min(i, other);
      const std::size_t high = std::max(i, other);
      return Finding{.cause = Cause::parts_overlap,
                     .ranks = {wanted[low].new_rank.value, wanted[high].new_rank.value},
                     .range = *intersection(owned[low], owned[high])};
    }
  }
  if (covered == tile.elements()) return {};
  std::vector<Box> left{tile};
  for (const Box& box : owned) left = difference(left, box);
  return Finding{.cause = Cause::parts_leave_gap, .range = left.front()};
}

// Where the elements of one wanted box come from. `touching`: old boxes that have elements of it, lowest old rank
// first. Returns what nobody has.
std::vector<Box> find_sources(const Box& owned, const Box& filled, const std::vector<const OldBox*>& touching,
                              std::vector<Source>& sources) {
  std::vector<Box> left{filled};
  for (const OldBox* old : touching) {
    const std::size_t before = sources.size();
    for (std::size_t i = 0; i < before; ++i) {
      if (sources[i].same_as) continue;
      const auto again = intersection(sources[i].box, old->owned);
      const auto compared = again ? intersection(*again, owned) : std::nullopt;
      if (compared) sources.push_back({*compared, old->old_rank, old->holder, sources[i].old_rank, old->owned.first});
    }
    for (const Box& box : left) {
      if (auto common = intersection(box, old->owned))
        sources.push_back({*std::move(common), old->old_rank, old->holder, std::nullopt, old->owned.first});
    }
    left = difference(left, old->owned);
  }
  return left;
}

}  // namespace

TileMatch match_tile(const Box& tile, const std::vector<OldBox>& old, const std::vector<WantedBox>& wanted) {
  TileMatch match;
  match.sources.resize(wanted.size());
  match.finding = check_cover(tile, wanted);
  if (match.finding) return match;
  std::vector<Box> boxes;
  for (const OldBox& one : old) boxes.push_back(one.owned);
  const SortedBoxes sorted(boxes);
  const Box nothing = empty_box(tile.dimensions());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto filled = intersection(wanted[i].filled, tile);
    if (!filled) continue;
    std::vector<const OldBox*> touching;
    for (const std::size_t number : sorted.touching(*filled)) touching.push_back(&old[number]);
    std::ranges::stable_sort(touching, {}, [](const OldBox* one) { return one->old_rank; });
    const Box owned = intersection(wanted[i].owned, tile).value_or(nothing);
    const auto left = find_sources(owned, *filled, touching, match.sources[i]);
    if (left.empty()) continue;
    match.finding = Finding{.cause = Cause::old_gap, .range = left.front()};
    return match;
  }
  return match;
}

}  // namespace cairn::reshape
