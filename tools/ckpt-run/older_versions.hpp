// Which versions a run can restore instead of one that leads to the same failure each time. Looks only at stores that
// are visible on this host. Reads manifests and no data. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "config/config.hpp"
#include "placement.hpp"

namespace ckpt_run {

struct OlderVersions {
  std::vector<std::uint32_t> versions;  // the newest first; none also where a newer one than the restored is there
  bool all_seen = false;                // the stores of all nodes are visible, so no newer one is elsewhere
};

// Of the job's branch. `restored`: the snapshot that runs have restored.
[[nodiscard]] OlderVersions older_versions(const cairn::Config& config, const Placement& placement,
                                           const std::function<bool(std::string_view host)>& is_here,
                                           const cairn::Identity& restored);

}  // namespace ckpt_run
