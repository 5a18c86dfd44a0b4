// The regions that an application has protected, by name and in the order of protection. The application owns the
// memory; this holds the way to it. Local.
#pragma once

#include <list>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <cairn/session_base.hpp>

#include "base/error.hpp"
#include "format/region.hpp"
#include "format/shard.hpp"
#include "format/shard_plan.hpp"

namespace cairn {

class Regions {
 public:
  // `digest`: what the blocks of its shards are to have.
  explicit Regions(BlockDigest digest) : digest_(digest) {}

  // Inverse pair. Protecting a name again replaces the region.
  [[nodiscard]] Status protect(const std::string& name, detail::RegionAccess access);
  [[nodiscard]] Status unprotect(const std::string& name);

  // The regions as they are now, for writing; valid until the next call here. The plan is made anew only when the
  // extent of a region or the set of regions has changed.
  struct Capture {
    const ShardPlan& plan;
    std::span<const Bytes> regions;
  };
  [[nodiscard]] Result<Capture> capture();

  // The inverse: gives every region (or the one named) the extent it has in the shard and copies its bytes back.
  // Refuses names and types that do not match, naming what differs, before it touches anything.
  [[nodiscard]] Status restore(const Shard& shard, const std::string& only) const;

 private:
  struct Region {
    std::string name;
    detail::RegionAccess access;
    std::size_t planned_elements = 0;  // of a container
  };
  [[nodiscard]] static RegionInfo describe(const Region& region);
  [[nodiscard]] static bool fits(const Region& region, const RegionInfo& stored);
  [[nodiscard]] Status check_against(const Shard& shard, const std::string& only) const;

  [[nodiscard]] Status make_plan();

  BlockDigest digest_;
  std::list<Region> regions_;  // a list, so that one of many is removed in constant time
  std::unordered_map<std::string, std::list<Region>::iterator> by_name_;
  std::optional<ShardPlan> plan_;
  std::vector<Bytes> captured_;
};

}  // namespace cairn
