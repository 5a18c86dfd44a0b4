#include "format/symptom_file.hpp"

#include <algorithm>

#include "format/json_file.hpp"
#include "format/observation_json.hpp"

namespace cairn {
namespace {

constexpr std::string_view kSymptomsKind = "symptoms";

}  // namespace

std::string to_json(const SymptomFile& file, const Sealer& sealer) {
  Json json{{"kind", kSymptomsKind}, {"format", sealer.format(kRecordFormats)}};
  json["written"] = file.written;
  json["symptoms"] = Json::array();
  for (std::size_t i = 0; i < std::min(file.symptoms.size(), kMostSpooled); ++i) {
    const SpooledSymptom& one = file.symptoms[i];
    Json entry = to_json(one.seen);
    entry["host"] = one.host;
    entry["place"] = one.place;
    entry["reported"] = one.seen.reported.count();
    json["symptoms"].push_back(std::move(entry));
  }
  return sealer.seal(json);
}

Result<SymptomFile> parse_symptom_file(const std::string& text, const Sealer& sealer) {
  return read_json<SymptomFile>(text, kSymptomsKind, sealer, [](const JsonView& root) {
    SymptomFile file;
    file.written = root["written"].number();
    const JsonView symptoms = root["symptoms"];
    if (symptoms.size() > kMostSpooled) symptoms.complain("has too many entries");
    for (std::size_t i = 0; i < symptoms.size() && root.good(); ++i) {
      const JsonView entry = symptoms.at(i);
      SpooledSymptom one{entry["host"].text(), entry["place"].number32(), read_observation(entry, NodeId{})};
      one.seen.reported = localize::Time(static_cast<std::int64_t>(entry["reported"].number()));
      file.symptoms.push_back(std::move(one));
    }
    return file;
  });
}

}  // namespace cairn
