#include "format/json_text.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/plain_text.hpp"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

bool is_escaped(const std::string& text) { return escaped(text) == text; }

bool is_escaped(const Json& json) {
  if (json.is_string()) return is_escaped(json.get_ref<const std::string&>());
  if (json.is_array()) return std::ranges::all_of(json, [](const Json& value) { return is_escaped(value); });
  if (!json.is_object()) return true;
  return std::ranges::all_of(json.get_ref<const Json::object_t&>(),
                             [](const auto& member) { return is_escaped(member.first) && is_escaped(member.second); });
}

Json escape(const Json& json) {
  if (json.is_string()) return escaped(json.get_ref<const std::string&>());
  Json result = json;
  if (json.is_array()) std::ranges::transform(json, result.begin(), escape);
  if (!json.is_object()) return result;
  result.clear();
  for (const auto& [key, value] : json.get_ref<const Json::object_t&>()) result[escaped(key)] = escape(value);
  return result;
}

}  // namespace

std::string json_text(const Json& json, int indent) {
  return is_escaped(json) ? json.dump(indent) : escape(json).dump(indent);
}

}  // namespace cairn
