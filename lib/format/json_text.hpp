// JSON as text, whatever bytes its strings have. Pure.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace cairn {

// Strings and keys are escaped (base/plain_text); JsonView::text() gives them back. `indent`: blanks a level; -1: one
// line.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json, int indent);

}  // namespace cairn
