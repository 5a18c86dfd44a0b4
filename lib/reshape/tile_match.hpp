// The work of a directory member for one tile of an array: do the wanted boxes cover it exactly once, and from which
// old rank does each element come? Pure.
//
// The lowest old rank that owns an element gives it. Where others own it too, their value is fetched as well, and
// compared. Ghosts are fetched, not compared: the rank that owns the element compares.
#pragma once

#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "reshape/box.hpp"
#include "reshape/finding.hpp"

namespace cairn::reshape {

struct OldBox {
  Box owned;
  Rank old_rank;
  Peer holder;
};
struct WantedBox {
  Box owned;
  Box filled;  // and its ghosts
  Rank new_rank;
};

// A box that is fetched from one old rank.
struct Source {
  Box box;
  Rank old_rank;
  Peer holder;
  std::optional<Rank> same_as;            // fetched only to be compared with what this old rank gave
  std::vector<std::int64_t> begins = {};  // index of the first element that the old rank owns; none if it is no array

  friend bool operator==(const Source&, const Source&) = default;
};
void fields(auto& io, Source& m) { io(m.box), io(m.old_rank), io(m.holder), io(m.same_as), io(m.begins); }

struct TileMatch {
  std::vector<std::vector<Source>> sources;  // of each wanted box
  Findings finding;                          // parts_overlap, parts_leave_gap or old_gap, without the region's name
};

// Boxes may reach beyond the tile; what lies outside it is the work of others.
[[nodiscard]] TileMatch match_tile(const Box& tile, const std::vector<OldBox>& old,
                                   const std::vector<WantedBox>& wanted);

}  // namespace cairn::reshape
