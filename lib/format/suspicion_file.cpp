#include "format/suspicion_file.hpp"

#include "base/plain_text.hpp"
#include "base/symptom.hpp"
#include "format/json_file.hpp"
#include "format/json_view.hpp"
#include "format/layout_json.hpp"

namespace cairn {
namespace {

constexpr std::string_view kSuspicionKind = "suspicion";

}  // namespace

std::string to_json(const SuspicionFile& file, const Sealer& sealer) {
  Json json{{"kind", kSuspicionKind}, {"format", sealer.format(kRecordFormats)}};
  json["written"] = file.written;
  if (const auto* node = std::get_if<NodeId>(&file.whom)) json["node"] = node->value;
  if (const auto* rank = std::get_if<Rank>(&file.whom)) json["rank"] = rank->value;
  if (const auto* host = std::get_if<std::string>(&file.whom)) json["host"] = *host;
  json["text"] = file.text;
  return sealer.seal(json);
}

Result<SuspicionFile> parse_suspicion_file(const std::string& text, const Sealer& sealer) {
  return read_json<SuspicionFile>(text, kSuspicionKind, sealer, [](const JsonView& root) {
    SuspicionFile file;
    file.written = root["written"].number();
    if (root.has("node")) {
      file.whom = NodeId{root["node"].number32()};
    } else if (root.has("rank")) {
      file.whom = Rank{root["rank"].number32()};
    } else {
      file.whom = root["host"].text();
    }
    file.text = plain_text(root["text"].text(), kMostNoteBytes);
    if (file.text.empty()) root["text"].complain("is empty");
    return file;
  });
}

}  // namespace cairn
