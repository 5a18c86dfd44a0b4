// Hosts that earlier runs of the job have found sick, for which the next run takes others if there are any. Local.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "config/config.hpp"

namespace ckpt_run {

// Those that health.json of the global store names, each once, if a probe has confirmed it and the verdict has not
// expired. None below [localize] act = replace. An error says why the file could not be read.
[[nodiscard]] cairn::Result<std::vector<std::string>> sick_hosts(const cairn::Config& config,
                                                                 std::chrono::seconds today);

}  // namespace ckpt_run
