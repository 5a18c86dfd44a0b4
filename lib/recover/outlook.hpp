// Which snapshot a restart would take if some nodes were lost now, judged by layouts: no file is looked at. Pure.
#pragma once

#include <vector>

#include "base/ids.hpp"
#include "localize/words.hpp"
#include "recover/catalog.hpp"

namespace cairn {

// The newest one, at the cheapest level that survives. `lost`: nodes of today's layout.
[[nodiscard]] localize::Outlook outlook_without(const Catalog& catalog, const std::vector<NodeId>& lost);

}  // namespace cairn
