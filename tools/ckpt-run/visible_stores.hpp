// The stores of a job that are visible on this host: the global one, and those of this host's nodes. Local.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "config/config.hpp"
#include "inspect/survey.hpp"
#include "placement.hpp"

namespace ckpt_run {

// Of those that a run of this placement sees. None: one of them cannot be read.
[[nodiscard]] std::optional<cairn::JobStores> visible_stores(const cairn::Config& config, const Placement& placement,
                                                             const std::function<bool(std::string_view)>& is_here);

}  // namespace ckpt_run
