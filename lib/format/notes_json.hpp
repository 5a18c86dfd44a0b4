// Notes in JSON. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "format/json_view.hpp"
#include "format/notes.hpp"

namespace cairn {

// "inf", "-inf" or "nan", where JSON has no such number.
[[nodiscard]] nlohmann::ordered_json json_of(const AttributeValue& value);

// Inverse pair: the keys `label` and `attributes` of a manifest, missing where there are none.
void put_notes(nlohmann::ordered_json& to, const SnapshotNotes& notes);
[[nodiscard]] SnapshotNotes notes_of(const JsonView& from);

}  // namespace cairn
