// The JSON files of the stores: manifests, records, marks, costs, verdicts, and the layouts in them. An input is a
// file's text before its seal.
#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "format/health_file.hpp"
#include "format/job_costs.hpp"
#include "format/layout_json.hpp"
#include "format/manifest.hpp"
#include "format/pins.hpp"
#include "format/suspicion_file.hpp"
#include "format/watch_file.hpp"
#include "fuzz/target.hpp"
#include "localize/facts.hpp"
#include "support/sample_manifest.hpp"
#include "support/sample_notes.hpp"

namespace cairn::fuzz {
namespace {

// The object as FORMAT.md says that it is sealed; nothing where it is none.
std::string sealed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.size() < 2 || text.back() != '}') return {};
  text.pop_back();
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const std::string digest = sha256(bytes_of(text)).hex();
  return text + ",\n \"sha256\": \"" + digest + "\"\n}\n";
}

// A layout's id is a digest of the layout, which no fuzzer finds: it is put right by the error, which names the id that
// is there, and then the one that should be. Empty: that is not what is wrong.
std::string with_right_layout_id(std::string text, const std::string& error) {
  if (error.find(".layout.id") == std::string::npos) return {};
  std::vector<std::string> ids;  // with their quotation marks
  for (std::size_t at = error.find('"'); at != std::string::npos; at = error.find('"', at + 1)) {
    const std::size_t end = error.find('"', at + 1);
    if (end == std::string::npos) break;
    ids.push_back(error.substr(at, end + 1 - at));
    at = end;
  }
  if (ids.size() != 2) return {};
  const std::size_t at = text.find(ids[0]);
  if (at == std::string::npos) return {};
  return text.replace(at, ids[0].size(), ids[1]);
}

template <class T>
Result<T> parse_with_right_ids(std::string& text, Result<T> (*parse)(const std::string&)) {
  constexpr int kMostLayouts = 4;
  for (int i = 0;; ++i) {
    auto parsed = parse(sealed(text));
    if (parsed || i == kMostLayouts) return parsed;
    std::string better = with_right_layout_id(text, parsed.error().message);
    if (better.empty()) return parsed;
    text = std::move(better);
  }
}

void check_layout(const Layout& layout) {
  must(decode_layout(encode(layout)).has_value(), "a layout that a manifest may have can be told to others");
  if (layout.nodes > 64) return;
  for (std::uint32_t node = 0; node < layout.nodes; ++node) {
    for (const std::uint64_t k : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      for (const NodeId partner : partners_of(layout, {node}, k)) must(partner.value < layout.nodes, "partners exist");
      (void)owners_held_by(layout, {node}, k);
    }
  }
}

void check_value(const NodeManifest& manifest) {
  for (const Holding& holding : manifest.holdings) check_layout(holding.layout);
}
void check_value(const GlobalManifest& manifest) { check_layout(manifest.layout); }
void check_value(const auto& /*value*/) {}

std::string to_json(const Pins& pins) { return pins_to_json(pins); }

template <class T>
void check(const Result<T>& parsed, Result<T> (*parse)(const std::string&)) {
  if (!parsed) {
    const Code code = parsed.error().code;
    must(code == Code::corrupt || code == Code::newer_format || code == Code::untrusted,
         "what cannot be read is damaged, newer, or sealed with a key");
    must(!parsed.error().message.empty(), "an error says what is wrong");
    return;
  }
  must(parse(to_json(*parsed)).value() == *parsed, "what is written again is the same");
  check_value(*parsed);
}

template <class T>
bool run(Bytes input, Result<T> (*parse)(const std::string&)) {
  std::string text(text_of(input));
  const auto plain = parse(text);
  check(plain, parse);
  const auto parsed = parse_with_right_ids(text, parse);
  check(parsed, parse);
  if (!parsed) return plain.has_value();
  std::string damaged = sealed(text);
  const Damage damage = damage_by(input, damaged.size());
  damaged[damage.offset] = static_cast<char>(std::byte(damaged[damage.offset]) ^ damage.bit);
  // Before seals there were none to tell.
  const auto json = nlohmann::json::parse(text);
  must(json["format"] == 1 || !parse(damaged), "a damaged file is refused");
  return true;
}

// Of a job without a key.
template <class T, Result<T> (*parse)(const std::string&, const Sealer&)>
bool run_as(Bytes input) {
  return run<T>(input, [](const std::string& text) { return parse(text, {}); });
}

// As heads tell each other of it.
bool run_layout(Bytes input) {
  const auto layout = decode_layout(input);
  if (!layout) return false;
  must(std::ranges::equal(encode(*layout), input), "a layout has one encoding");
  const nlohmann::json json = json_of(*layout);
  std::string complaint;
  const Layout same = layout_of(JsonView(&json, "", &complaint));
  must(complaint.empty() && same == *layout, "a layout that can be told to others can be kept in a manifest");
  return true;
}

// Without its seal, and as it is.
std::vector<Buffer> both(const std::string& text) {
  auto json = nlohmann::ordered_json::parse(text);
  json.erase("sha256");
  return {buffer_of(json.dump(1) + "\n"), buffer_of(text), buffer_of(test::as_format_1(text))};
}

std::vector<Buffer> layouts() { return {encode(test::sample_layout())}; }
std::vector<Buffer> node_manifests() {
  std::vector<Buffer> manifests = both(cairn::to_json(test::sample_node_manifest()));
  NodeManifest with_notes = test::sample_node_manifest();
  with_notes.notes = test::sample_notes();
  std::ranges::move(both(cairn::to_json(with_notes)), std::back_inserter(manifests));
  return manifests;
}
std::vector<Buffer> pins() { return both(to_json(test::sample_pins())); }
std::vector<Buffer> global_manifests() { return both(to_json(test::sample_global_manifest())); }
std::vector<Buffer> run_records() {
  std::vector<Buffer> records = both(to_json(test::sample_run_record()));
  std::ranges::move(both(to_json(test::sample_choosing_record())), std::back_inserter(records));
  return records;
}
std::vector<Buffer> chain_marks() { return both(to_json(test::sample_chain_mark())); }
std::vector<Buffer> health_files() {
  localize::Verdict verdict;
  verdict.fault = localize::Fault::store_failing;
  verdict.suspect.node = {1};
  verdict.nodes = {{2}};
  const localize::Time late = std::chrono::seconds(3);
  verdict.evidence = {{SymptomKind::store_error, {{1}, Rank{4}}, {1}, late, late, {}, 3, 0.5}};
  verdict.findings = {{localize::fact_of(localize::ProbeFact::state_store_errors), 0.5}};
  return both(to_json(HealthFile{{2}, {{verdict, "c17", 1700000000, "node 1 is sick", {2}, 1700086400}}}));
}
std::vector<Buffer> suspicions() {
  auto all = both(to_json(SuspicionFile{1700000000, NodeId{3}, "the fan is loud"}));
  std::ranges::move(both(to_json(SuspicionFile{1700000000, std::string("c17"), "slow"})), std::back_inserter(all));
  return all;
}
std::vector<Buffer> watches() { return both(to_json(WatchFile{{2}, 16, 4, 3, true, 1700000000})); }
std::vector<Buffer> costs() { return both(to_json(test::sample_measured())); }

}  // namespace

std::vector<Target> json_targets() {
  return {{"node_manifest", run_as<NodeManifest, parse_node_manifest>, node_manifests, mutate_json},
          {"global_manifest", run_as<GlobalManifest, parse_global_manifest>, global_manifests, mutate_json},
          {"run_record", run_as<RunRecord, parse_run_record>, run_records, mutate_json},
          {"chain_mark", run_as<ChainMark, parse_chain_mark>, chain_marks, mutate_json},
          {"pins", run_as<Pins, parse_pins>, pins, mutate_json},
          {"costs", run_as<JobCosts, parse_job_costs>, costs, mutate_json},
          {"health", run_as<HealthFile, parse_health_file>, health_files, mutate_json},
          {"suspicion", run_as<SuspicionFile, parse_suspicion_file>, suspicions, mutate_json},
          {"watch", run_as<WatchFile, parse_watch_file>, watches, mutate_json},
          {"layout", run_layout, layouts}};
}

}  // namespace cairn::fuzz
