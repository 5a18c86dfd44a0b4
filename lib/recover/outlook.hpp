// Which snapshot a restart would take if some nodes were lost now, judged by layouts: no file is looked at. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.hpp"
#include "recover/catalog.hpp"

namespace cairn {

struct Restorable {
  Version version;
  LevelId level{};           // the cheapest that survives
  std::uint64_t sealed = 0;  // seconds since 1970; 0: in an earlier life
  friend bool operator==(const Restorable&, const Restorable&) = default;
};

// The newest one. `lost`: nodes of today's layout. None: no snapshot survives.
[[nodiscard]] std::optional<Restorable> newest_restorable(const Catalog& catalog, const std::vector<NodeId>& lost);

}  // namespace cairn
