// Items grouped under the numbers 0 … n−1, such as the ranks of each node. All of them lie in one run of memory,
// because with thousands of nodes one vector per node costs more than its contents. First add all items, then close(),
// then read. A value. Not thread-safe until it is closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace cairn {

template <class Item>
class Grouped {
 public:
  void reserve(std::size_t items) { filed_.reserve(items); }
  // `group` < the number that close() is given.
  void add(std::uint32_t group, Item item) { filed_.emplace_back(group, std::move(item)); }

  void close(std::uint32_t groups) {
    first_.assign(std::size_t{groups} + 1, 0);
    for (const auto& [group, item] : filed_) ++first_[group + std::size_t{1}];
    for (std::size_t group = 0; group < groups; ++group) first_[group + 1] += first_[group];
    items_.resize(filed_.size());
    std::vector<std::size_t> next = first_;
    for (auto& [group, item] : filed_) items_[next[group]++] = std::move(item);
    filed_ = {};
  }

  // In the order in which they were added.
  [[nodiscard]] std::span<const Item> of(std::uint32_t group) const {
    return std::span(items_).subspan(first_[group], first_[group + std::size_t{1}] - first_[group]);
  }

 private:
  std::vector<std::pair<std::uint32_t, Item>> filed_;
  std::vector<std::size_t> first_;  // of each group in items_, and the end
  std::vector<Item> items_;
};

}  // namespace cairn
