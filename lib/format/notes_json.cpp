#include "format/notes_json.hpp"

#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "base/label.hpp"

namespace cairn {
namespace {

using NotesJson = nlohmann::ordered_json;

constexpr std::string_view kInfinite = "inf";
constexpr std::string_view kMinusInfinite = "-inf";
constexpr std::string_view kNoNumber = "nan";

double real_of(const JsonView& from) {
  if (!from.is_text()) return from.any_real();
  const std::string text = from.text();
  if (text == kInfinite) return std::numeric_limits<double>::infinity();
  if (text == kMinusInfinite) return -std::numeric_limits<double>::infinity();
  if (text != kNoNumber) from.complain(fmt::format("is \"{}\", should be a number, inf, -inf or nan", text));
  return std::numeric_limits<double>::quiet_NaN();
}

NotesJson json_of(const Attribute& attribute) {
  constexpr const char* kKeys[] = {"whole", "number", "text"};
  NotesJson json;
  if (!attribute.region.empty()) json["region"] = attribute.region;
  json["name"] = attribute.name;
  json[kKeys[attribute.value.index()]] = cairn::json_of(attribute.value);
  return json;
}

AttributeValue value_of(const JsonView& from) {
  if (from.has("whole")) return from["whole"].whole();
  if (from.has("number")) return real_of(from["number"]);
  return from["text"].text();
}

Attribute attribute_of(const JsonView& from) {
  Attribute attribute;
  if (from.has("region")) attribute.region = from["region"].text();
  attribute.name = from["name"].text();
  attribute.value = value_of(from);
  if (!from.good()) return attribute;
  if (const auto good = check_attribute(attribute); !good) from.complain("is not valid: " + good.error().message);
  return attribute;
}

}  // namespace

nlohmann::ordered_json json_of(const AttributeValue& value) {
  const auto* number = std::get_if<double>(&value);
  if (number != nullptr && std::isnan(*number)) return kNoNumber;
  if (number != nullptr && std::isinf(*number)) return *number < 0 ? kMinusInfinite : kInfinite;
  return std::visit([](const auto& one) { return NotesJson(one); }, value);
}

void put_notes(nlohmann::ordered_json& to, const SnapshotNotes& notes) {
  if (!notes.label.empty()) to["label"] = notes.label;
  for (const Attribute& attribute : notes.attributes) to["attributes"].push_back(json_of(attribute));
}

SnapshotNotes notes_of(const JsonView& from) {
  SnapshotNotes notes;
  if (from.has("label")) {
    notes.label = from["label"].text();
    if (const auto good = check_label(notes.label); from.good() && !good)
      from["label"].complain("is not valid: " + good.error().message);
  }
  if (!from.has("attributes")) return notes;
  const JsonView attributes = from["attributes"];
  if (attributes.size() > kMostAttributes) attributes.complain("is too long");
  for (std::size_t i = 0; i < attributes.size() && attributes.good(); ++i) {
    const std::size_t before = notes.attributes.size();
    if (!notes.put(attribute_of(attributes.at(i))) || notes.attributes.size() == before)
      attributes.at(i).complain("repeats the region and name of an earlier element");
  }
  return notes;
}

}  // namespace cairn
