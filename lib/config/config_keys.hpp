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
// Whether a variable begins as those of a section do: CAIRN_LEVELS_…
[[nodiscard]] bool names_section(std::string_view variable);

// The known name that the fewest edits lead to; a key of the same name in another section counts as near.
[[nodiscard]] const ConfigKey& nearest_key(std::string_view section, std::string_view key);
[[nodiscard]] std::string_view nearest_section(std::string_view section);
[[nodiscard]] std::string nearest_variable(std::string_view variable);
// The same where so few edits lead to it that it was probably meant.
[[nodiscard]] std::optional<std::string> similar_variable(std::string_view variable);

}  // namespace cairn
