// Finds positions by name, for names that somebody else keeps: a hash table with open addressing. Local.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace cairn {

class NameIndex {
 public:
  // For up to `names` of them.
  explicit NameIndex(std::size_t names) : slots_(std::bit_ceil(2 * names + 1), kEmpty) {}

  // Adds the name at `position`; false: there is such a name already. `name_at(position)` gives the names back.
  template <class NameAt>
  bool add(std::uint32_t position, NameAt name_at) {
    std::uint32_t& slot = slots_[slot_of(name_at(position), name_at)];
    if (slot != kEmpty) return false;
    slot = position;
    return true;
  }

  // The inverse.
  template <class NameAt>
  [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name, NameAt name_at) const {
    const std::uint32_t position = slots_[slot_of(name, name_at)];
    if (position == kEmpty) return {};
    return position;
  }

 private:
  static constexpr std::uint32_t kEmpty = std::numeric_limits<std::uint32_t>::max();

  // Where the name is, or would be.
  template <class NameAt>
  [[nodiscard]] std::size_t slot_of(std::string_view name, NameAt name_at) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = std::hash<std::string_view>()(name) & mask;
    while (slots_[slot] != kEmpty && name_at(slots_[slot]) != name) slot = (slot + 1) & mask;
    return slot;
  }

  std::vector<std::uint32_t> slots_;  // positions; at least half of them are empty
};

}  // namespace cairn
