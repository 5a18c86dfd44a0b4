// The regions that an application has protected, by name and in the order of protection. The application owns the
// memory; this holds the way to it. Local.
#pragma once

#include <string>
#include <vector>

#include <cairn/session_base.hpp>

#include "base/error.hpp"
#include "format/region.hpp"
#include "format/shard.hpp"

namespace cairn {

class Regions {
 public:
  // Inverse pair. Protecting a name again replaces the region.
  [[nodiscard]] Status protect(const std::string& name, detail::RegionAccess access);
  [[nodiscard]] Status unprotect(const std::string& name);

  // The regions as they are now, for writing.
  [[nodiscard]] Result<std::vector<RegionData>> capture() const;

  // The inverse: gives every region (or the one named) the extent it has in the shard and copies its bytes back.
  // Refuses names and types that do not match, with both lists, before it touches anything.
  [[nodiscard]] Status restore(const Shard& shard, const std::string& only) const;

 private:
  struct Region {
    std::string name;
    detail::RegionAccess access;
  };
  [[nodiscard]] static RegionInfo describe(const Region& region);
  [[nodiscard]] static bool fits(const Region& region, const RegionInfo& stored);
  [[nodiscard]] Status check_against(const Shard& shard, const std::string& only) const;

  std::vector<Region> regions_;
};

}  // namespace cairn
