// What is found about a job that may hang, for scripts: the facts by name, and the sentences that a person reads.
#pragma once

#include <string>

#include "commands.hpp"
#include "hang/hang.hpp"

namespace ckpt_tool {

[[nodiscard]] Json hang_json(const std::string& job, const cairn::hang::HangReport& report);

}  // namespace ckpt_tool
