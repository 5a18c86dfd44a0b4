// The names of facts for scripts: once published, they do not change. Pure.
#pragma once

#include <string_view>

#include "hang/hang.hpp"

namespace cairn::hang {

[[nodiscard]] std::string_view name_of(Verdict verdict);
[[nodiscard]] std::string_view name_of(Cause cause);
[[nodiscard]] std::string_view name_of(Certainty certainty);
[[nodiscard]] std::string_view name_of(Reason reason);
[[nodiscard]] std::string_view name_of(Doing doing);
[[nodiscard]] std::string_view name_of(Gap::Cause cause);
[[nodiscard]] std::string_view name_of(Note::Cause cause);

}  // namespace cairn::hang
