// A summary of one holding of one store for the other heads: which node's part of which snapshot it is, and at which
// levels. Made by Levels::summary_of(). A value.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"

namespace cairn {

struct HoldingSummary {
  Identity snapshot;
  LayoutId layout;
  NodeId node;             // whose part this is, in that layout
  LevelSet levels = {};    // that it has something of
  std::uint32_t turn = 0;  // which placement, modulo the layout's rotation; 0 where no level takes turns
  friend bool operator==(const HoldingSummary&, const HoldingSummary&) = default;
};

using HoldingList = std::vector<HoldingSummary>;

}  // namespace cairn
