// What ckpt-run adds to what a job's heads have found out: hosts that do not answer once the job has ended. They are in
// health.json of the global store, so that `ckpt-tool health` shows them, under the run that they ended. Local.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "config/config.hpp"
#include "placement.hpp"

namespace ckpt_run {

// `placement`: of the run that has ended, the newest that the global store has a record of. Does nothing if there is no
// such run, or if [localize] mode = off. An error says why the file could not be written.
[[nodiscard]] cairn::Status note_lost_hosts(const cairn::Config& config, const Placement& placement,
                                            const std::vector<std::string>& lost, std::chrono::seconds today);

}  // namespace ckpt_run
