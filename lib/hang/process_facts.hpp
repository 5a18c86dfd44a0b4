// What is known of a process by what /proc says of it. Pure.
#pragma once

#include <optional>

#include "base/process_state.hpp"
#include "hang/hang.hpp"

namespace cairn::hang {

// Of a process that is there. `before`: of an earlier reading.
[[nodiscard]] ProcessFacts facts_of(const std::optional<ProcessState>& before, const ProcessState& now);

}  // namespace cairn::hang
