#include <fmt/format.h>

#include "format/layout_json.hpp"
#include "format/manifest.hpp"
#include "format/notes_json.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

constexpr std::string_view kGlobalKind = "global manifest";
constexpr std::string_view kRunKind = "run record";
constexpr std::string_view kMarkKind = "chain mark";

// "undecided", "fresh", or the identity of the snapshot that the life went on from.
void read_parent(const JsonView& from, RunRecord& record) {
  if (!from.is_text()) {
    record.parent = RunRecord::Parent::snapshot;
    record.parent_snapshot = identity_of(from);
    return;
  }
  const std::string text = from.text();
  if (text == "fresh") record.parent = RunRecord::Parent::fresh;
  if (text != "fresh" && text != "undecided") {
    from.complain(fmt::format("is \"{}\", should be \"undecided\", \"fresh\" or a snapshot's identity", text));
  }
}

Json json_of_parent(const RunRecord& record) {
  if (record.parent == RunRecord::Parent::undecided) return "undecided";
  if (record.parent == RunRecord::Parent::fresh) return "fresh";
  Json snapshot;
  put_identity(snapshot, record.parent_snapshot);
  return snapshot;
}

Json json_of(const Choice& choice) {
  Json json;
  put_identity(json, choice.snapshot);
  json["after"] = choice.after.value;
  json["at_start"] = choice.at_start;
  if (!choice.label.empty()) json["label"] = choice.label;
  return json;
}

void read_choices(const JsonView& from, RunRecord& record) {
  if (from.size() > kMostChoices) from.complain("is too long");
  for (std::size_t i = 0; i < from.size() && from.good(); ++i) {
    const JsonView choice = from.at(i);
    Choice& read = record.choices.emplace_back(
        Choice{identity_of(choice), Version{choice["after"].number32()}, choice["at_start"].boolean()});
    if (choice.has("label")) read.label = choice["label"].text();
  }
}

void read_rejected(const JsonView& from, RunRecord& record) {
  if (from.size() > kMostRejected) from.complain("is too long");
  for (std::size_t i = 0; i < from.size() && from.good(); ++i) record.rejected.push_back(identity_of(from.at(i)));
}

const Formats& formats_of(const RunRecord& record) {
  if (!record.rejected.empty()) return kRejectingFormats;
  return record.choices.empty() ? kRecordFormats : kChoosingFormats;
}

void read_node_files(const JsonView& from, GlobalManifest& manifest) {
  from.expect_size(manifest.layout.nodes);
  for (std::size_t i = 0; i < from.size() && from.good(); ++i) {
    const JsonView check = from.at(i);
    manifest.node_files.push_back({check["table"].number(), check["places"].number(), digest_of(check["sha256"])});
  }
}

}  // namespace

std::string to_json(const GlobalManifest& manifest, const Sealer& sealer) {
  Json json{{"kind", kGlobalKind}, {"format", sealer.format(kManifestFormats)}};
  put_identity(json, manifest.identity);
  json["safe_point"] = manifest.safe_point;
  put_notes(json, manifest.notes);
  json["layout"] = json_of(manifest.layout);
  json["shards"] = json_of(manifest.shards);
  json["node_file_bytes"] = manifest.node_file_bytes;
  if (manifest.master)
    json["master"] = Json{{"bytes", manifest.master->bytes}, {"sha256", manifest.master->digest.hex()}};
  for (const NodeFileCheck& check : manifest.node_files) {
    json["node_files"].push_back(
        Json{{"table", check.table}, {"places", check.places}, {"sha256", check.digest.hex()}});
  }
  return sealer.seal(json);
}

Result<GlobalManifest> parse_global_manifest(const std::string& text, const Sealer& sealer) {
  return read_json<GlobalManifest>(text, kGlobalKind, sealer, [](const JsonView& root) {
    GlobalManifest manifest;
    manifest.identity = identity_of(root);
    manifest.safe_point = root["safe_point"].number();
    manifest.notes = notes_of(root);
    manifest.layout = layout_of(root["layout"]);
    if (!root.good()) return manifest;
    root["shards"].expect_size(manifest.layout.node_of_rank.size());
    manifest.shards = shards_of(root["shards"], manifest.layout);
    for (std::size_t i = 0; i < manifest.shards.size() && root.good(); ++i) {
      if (manifest.shards[i].rank.value != i) root["shards"].at(i).complain("is out of order, should be by rank");
    }
    const JsonView bytes = root["node_file_bytes"];
    bytes.expect_size(manifest.layout.nodes);
    for (std::size_t i = 0; i < bytes.size() && bytes.good(); ++i) {
      manifest.node_file_bytes.push_back(bytes.at(i).number());
    }
    if (root.has("master")) manifest.master = {root["master"]["bytes"].number(), digest_of(root["master"]["sha256"])};
    if (root.has("node_files")) read_node_files(root["node_files"], manifest);
    return manifest;
  });
}

std::string to_json(const RunRecord& record, const Sealer& sealer) {
  Json json{{"kind", kRunKind}, {"format", sealer.format(formats_of(record))}};
  json["incarnation"] = record.incarnation.value;
  json["run"] = names::hex(record.run);
  json["parent"] = json_of_parent(record);
  json["snapshots"] = record.snapshots;
  json["finished"] = record.finished;
  for (const Choice& choice : record.choices) json["choices"].push_back(json_of(choice));
  for (const Identity& snapshot : record.rejected) put_identity(json["rejected"].emplace_back(), snapshot);
  return sealer.seal(json);
}

Result<RunRecord> parse_run_record(const std::string& text, const Sealer& sealer) {
  return read_json<RunRecord>(text, kRunKind, sealer, [](const JsonView& root) {
    RunRecord record;
    record.incarnation = {root["incarnation"].number32()};
    record.run = run_of(root["run"]);
    read_parent(root["parent"], record);
    record.snapshots = root["snapshots"].boolean();
    record.finished = root["finished"].boolean();
    if (root.has("choices")) read_choices(root["choices"], record);
    if (root.has("rejected")) read_rejected(root["rejected"], record);
    return record;
  });
}

std::string to_json(const ChainMark& mark, const Sealer& sealer) {
  Json json{{"kind", kMarkKind}, {"format", sealer.format(kRecordFormats)}};
  json["id"] = names::hex(mark.id);
  json["global"] = mark.global;
  return sealer.seal(json);
}

Result<ChainMark> parse_chain_mark(const std::string& text, const Sealer& sealer) {
  return read_json<ChainMark>(text, kMarkKind, sealer, [](const JsonView& root) {
    return ChainMark{run_of(root["id"]), root["global"].text()};
  });
}

}  // namespace cairn
