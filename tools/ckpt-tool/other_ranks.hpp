// What a snapshot shows of a restart on another number of ranks: which regions are blocks that cover a global array. A
// snapshot does not have the kinds of regions, which the program says. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspection.hpp"
#include "reshape/box.hpp"

namespace ckpt_tool {

// A region, on all ranks that have it.
struct RegionOnRanks {
  std::string name;
  bool has_place = false;                  // on some rank
  bool is_one_array = false;               // all ranks have places in the same array
  std::optional<cairn::reshape::Box> gap;  // of that array: elements that no rank has

  [[nodiscard]] bool covers() const { return is_one_array && !gap; }
};

// In the order of the first rank that has each. Ranks that cannot be read are left out.
[[nodiscard]] std::vector<RegionOnRanks> regions_on_ranks(const std::vector<RegionGroup>& groups);

// Which of them can be restored on another number of ranks by their places, and which by kinds.
[[nodiscard]] std::string other_ranks_text(const std::vector<RegionOnRanks>& regions);

}  // namespace ckpt_tool
