// The table of all configuration keys: one row each, with its section, name and the function that reads its value.
// What is not in the table is not a key.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/config.hpp"
#include "config/config_values.hpp"

namespace cairn {

struct ConfigKey {
  std::string_view section;
  std::string_view key;
  values::Mistake (*set)(Config&, std::string_view value);

  // "CAIRN_LEVELS_L2": the environment variable that overrides it.
  [[nodiscard]] std::string variable() const;
};

[[nodiscard]] std::span<const ConfigKey> config_keys();
// By its name, and by its environment variable. nullptr: there is none.
[[nodiscard]] const ConfigKey* find_key(std::string_view section, std::string_view key);
[[nodiscard]] const ConfigKey* find_variable(std::string_view variable);
[[nodiscard]] bool is_section(std::string_view section);
// The section whose variables begin as this one does: CAIRN_LEVELS_…
[[nodiscard]] std::optional<std::string_view> section_of_variable(std::string_view variable);

// The known name that was probably meant by an unknown one, since few edits lead to it; a key of the same name in
// another section counts as near. nullptr or none: no name is near.
[[nodiscard]] const ConfigKey* near_key(std::string_view section, std::string_view key);
[[nodiscard]] const ConfigKey* near_variable(std::string_view variable);
[[nodiscard]] std::optional<std::string_view> near_section(std::string_view section);

// For a message that has no such name to offer: "the keys of [log] are level, trace".
[[nodiscard]] std::string keys_text(std::string_view section);
[[nodiscard]] std::string sections_text();

}  // namespace cairn
