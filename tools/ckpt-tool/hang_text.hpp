// What is found about a job that may hang, as text for a person, and as JSON.
#pragma once

#include <string>

#include "commands.hpp"
#include "inspect/hang.hpp"

namespace ckpt_tool {

// Verdict and culprits first, then the ranks: those that do the same on one line.
[[nodiscard]] std::string hang_text(const std::string& job, const cairn::HangReport& report);
[[nodiscard]] Json hang_json(const std::string& job, const cairn::HangReport& report);

}  // namespace ckpt_tool
