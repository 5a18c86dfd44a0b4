// Observations of fault localization in JSON files: health.json, symptoms.json. Pure.
#pragma once

#include <optional>

#include "format/json_view.hpp"
#include "format/layout_json.hpp"
#include "localize/fault.hpp"

namespace cairn {

// A value whose name this Cairn knows; else a complaint.
template <class T>
[[nodiscard]] T known_value(const JsonView& value, const std::optional<T>& found) {
  if (!found) value.complain("is not known to this Cairn");
  return found.value_or(T{});
}

// Inverse pairs. The times of an observation are ages. Its node is not written.
[[nodiscard]] Json to_json(const localize::Observation& seen);
[[nodiscard]] localize::Observation read_observation(const JsonView& json, NodeId node);
void put_rank(Json& json, const std::optional<Rank>& rank);
[[nodiscard]] std::optional<Rank> rank_of(const JsonView& json);

}  // namespace cairn
