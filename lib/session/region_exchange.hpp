// What ranks exchange of their protected regions in a restore: of a snapshot of another number of ranks, or of other
// parts of arrays. Refers to the list of the regions, and to the application's memory. Local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/shard.hpp"
#include "reshape/share.hpp"
#include "session/region_list.hpp"
#include "session/stored_regions.hpp"

namespace cairn {

class RegionExchange {
 public:
  explicit RegionExchange(RegionList& regions) : regions_(regions) {}

  // Whether this rank's regions are other elements than those in its own shard. `self`: the rank.
  [[nodiscard]] bool is_needed(const Shard& shard, Rank self) const;
  // The same of a shard that has the regions with exactly the types, sizes and places that they have now.
  [[nodiscard]] bool is_needed_by_kind(Rank self) const;
  // What this rank is to get.
  [[nodiscard]] Result<std::vector<reshape::Wanted>> wanted() const;
  // How many elements a region will have on this rank of so many, of a snapshot of another number of ranks. `all`: what
  // the snapshot has. A region that is not protected, or has no kind, counts as a sequence. Nothing: it is missing
  // there. Requires: the region is not of one old rank.
  [[nodiscard]] std::optional<std::uint64_t> share_of(const std::string& name, const StoredRegions& all, Rank self,
                                                      std::uint32_t ranks) const;

 private:
  RegionList& regions_;
};

}  // namespace cairn
