// How symptoms, faults and probes are named in a file of rules and in JSON. Never change a name. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "localize/fault.hpp"

namespace cairn::localize {

[[nodiscard]] std::string_view name_of(SymptomKind kind);
[[nodiscard]] std::string_view name_of(Fault fault);
[[nodiscard]] std::string_view name_of(Probe probe);
[[nodiscard]] std::optional<SymptomKind> symptom_named(std::string_view name);
// None also for "undetermined", which no rule may conclude.
[[nodiscard]] std::optional<Fault> fault_named(std::string_view name);

}  // namespace cairn::localize
