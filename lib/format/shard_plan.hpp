// What a shard of certain regions looks like: where each of them lies, and the region table. Made once, and used for
// every snapshot until a name, a type or a shape changes, so that a snapshot of many regions costs little more than its
// bytes. Immutable. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "format/shard.hpp"

namespace cairn {

class ShardPlan {
 public:
  // Refuses regions that no shard can hold, and repeated names. `digest`: what its blocks are to have.
  static Result<ShardPlan> make(std::span<const RegionInfo* const> regions, BlockDigest digest);
  // Shows each region in order, and ends with the first error.
  using EachRegion = std::function<Status(const std::function<Status(const RegionInfo&)>& look)>;
  // The same of regions that need not be in memory all at once. Requires: each call of `each` shows the same `count`
  // regions, and no two have one name.
  static Result<ShardPlan> make(std::size_t count, const EachRegion& each, BlockDigest digest);
  // The header of such a plan, but for the CRC of the table: that takes a fraction of the time.
  static Result<ShardHeader> header_of(std::size_t count, const EachRegion& each, BlockDigest digest);

  // All but the identity.
  [[nodiscard]] const ShardHeader& header() const { return header_; }
  [[nodiscard]] Bytes table() const { return table_; }
  // Where a region begins in the data section, and how long it is.
  struct Extent {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] const std::vector<Extent>& places() const { return places_; }

 private:
  // `places`: null, or gets them.
  static Result<ShardHeader> measure(std::size_t count, const EachRegion& each, BlockDigest digest,
                                     std::vector<Extent>* places);

  ShardHeader header_;
  Buffer table_;
  std::vector<Extent> places_;
};

}  // namespace cairn
