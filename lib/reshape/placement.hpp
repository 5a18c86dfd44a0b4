// Where the block of a rank lies in a global array: what of it is the rank's own, what are ghosts. Pure.
#pragma once

#include <optional>
#include <string>

#include "format/region.hpp"
#include "reshape/local_array.hpp"
#include "reshape/share.hpp"

namespace cairn::reshape {

struct Placement {
  LocalArray memory;
  Box owned;   // data; may be empty
  Box filled;  // owned elements and those ghosts that lie in the global array
};

// What is wrong with the place of a block in this memory, for a person; empty: nothing.
[[nodiscard]] std::string trouble_with(const RegionInfo& info, const Block& block);
// Of a new rank. Requires: there is no trouble.
[[nodiscard]] Placement wanted_placement(const RegionInfo& info, const Block& block);
// Of an old rank, in an array of that shape. `ghosts`: see Block::stored_ghosts; they count only if its table has none.
// None: its table has no place, or an impossible one.
[[nodiscard]] std::optional<Placement> stored_placement(const RegionInfo& info, const std::vector<std::uint64_t>& shape,
                                                        const std::vector<std::uint64_t>& ghosts);

}  // namespace cairn::reshape
