// The sentences about protected regions. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "format/region.hpp"

namespace cairn {

// "plate float64[100]"
[[nodiscard]] std::string text_of(const RegionInfo& region);
// "plate float64[100], step int32": the first few.
[[nodiscard]] std::string list_text(const std::vector<std::string>& regions);
// object "mesh"
[[nodiscard]] std::string object_text(const std::string& name);
[[nodiscard]] Error null_pointer(const RegionInfo& region);

// How protected regions differ from those of a snapshot: a text for each region.
struct RegionDifferences {
  std::vector<std::string> unknown;      // to the snapshot
  std::vector<std::string> unprotected;  // which the snapshot has
  std::vector<std::string> changed;      // in type or shape
  std::vector<std::string> fixed;        // in a size that restore() must not change
  std::vector<std::string> moved;        // in a global array

  void note_changed(const RegionInfo& region, const RegionInfo& stored);
  void note_fixed(const RegionInfo& region, const RegionInfo& stored);
  void note_moved(const RegionInfo& region, const RegionInfo& stored);
  // A `mismatch` if there are any. `only`: the region that is restored alone; empty: all are.
  [[nodiscard]] Status as_mismatch(const std::string& only) const;
};

}  // namespace cairn
