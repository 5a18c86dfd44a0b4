// Protected regions, by name and in the order of protection. Adding, replacing and removing one of many takes constant
// time, on average. Local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "format/name_index.hpp"
#include "session/protected_region.hpp"

namespace cairn {

class RegionList {
 public:
  // Takes the place of the one with this name, in the order too; or comes last. Those that are there stay where they
  // are in memory.
  void put(ProtectedRegion region);
  // Returns whether there was one. Others may move in memory.
  bool remove(std::string_view name);
  // Null: none has this name.
  [[nodiscard]] ProtectedRegion* find(std::string_view name);
  [[nodiscard]] const ProtectedRegion* find(std::string_view name) const;

  [[nodiscard]] std::size_t size() const { return regions_.size() - gaps_; }
  // How many are objects, files and directories.
  [[nodiscard]] std::size_t apart() const { return apart_; }
  // How many can be resized: containers, and those.
  [[nodiscard]] std::size_t resizable() const { return resizable_; }

  // In order, without the gaps.
  template <class Base>
  class Iterator {
   public:
    Iterator(Base at, Base end) : at_(at), end_(end) { skip_gaps(); }
    auto& operator*() const { return *at_; }
    Iterator& operator++() {
      ++at_;
      skip_gaps();
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    void skip_gaps() {
      while (at_ != end_ && is_gap(*at_)) ++at_;
    }
    Base at_;
    Base end_;
  };
  [[nodiscard]] auto begin() { return Iterator(regions_.begin(), regions_.end()); }
  [[nodiscard]] auto end() { return Iterator(regions_.end(), regions_.end()); }
  [[nodiscard]] auto begin() const { return Iterator(regions_.begin(), regions_.end()); }
  [[nodiscard]] auto end() const { return Iterator(regions_.end(), regions_.end()); }

 private:
  // One that was removed has no name any more. Its place, and what the index says of it, stay for a while.
  [[nodiscard]] static bool is_gap(const ProtectedRegion& region) { return region.name().empty(); }
  [[nodiscard]] std::optional<std::uint32_t> position_of(std::string_view name) const;
  void note(const ProtectedRegion& region);
  void forget(const ProtectedRegion& region);
  void add_to_index(NameIndex& index, std::size_t position) const;
  void close_gaps();

  static constexpr std::size_t kLeastRoom = 15;

  std::deque<ProtectedRegion> regions_;
  std::size_t gaps_ = 0;
  std::size_t apart_ = 0;
  std::size_t resizable_ = 0;
  std::size_t room_ = kLeastRoom;  // regions and gaps that the index is made for
  NameIndex by_name_{kLeastRoom};  // positions in regions_
};

}  // namespace cairn
