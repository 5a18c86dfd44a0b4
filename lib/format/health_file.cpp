#include "format/health_file.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "format/layout_json.hpp"
#include "format/observation_json.hpp"
#include "localize/facts.hpp"
#include "localize/names.hpp"

namespace cairn {
namespace {

using localize::Observation;
using localize::Time;
using localize::Verdict;

constexpr std::string_view kHealthKind = "health";

constexpr std::array<std::string_view, localize::kBlockerDoings> kDoings{"computes", "idles",   "in_call", "polls",
                                                                         "waits",    "differs", "left_out"};

localize::Blocker read_blocker(const JsonView& json, const Suspect& suspect) {
  localize::Blocker blocker;
  blocker.suspect = suspect;
  const auto doing = std::ranges::find(kDoings, json["state"].text());
  if (doing == kDoings.end()) json["state"].complain("is not known to this Cairn");
  if (doing != kDoings.end()) blocker.doing = static_cast<localize::Blocker::Doing>(doing - kDoings.begin());
  blocker.seconds = json["seconds"].real();
  blocker.call = json["call"].text();
  blocker.awaited = json["awaited"].text();
  blocker.waiting = json["waiting"].number32();
  blocker.waited = json["waited_seconds"].real();
  blocker.likely = json["likely"].boolean();
  blocker.unseen = json["unseen"].number32();
  const JsonView silent = json["silent"];
  for (std::size_t i = 0; i < silent.size() && json.good(); ++i) blocker.silent.push_back({silent.at(i).number32()});
  if (!blocker.deadlock()) return blocker;
  const JsonView ranks = json["ranks"];
  for (std::size_t i = 0; i < ranks.size() && json.good(); ++i) blocker.ranks.push_back({ranks.at(i).number32()});
  return blocker;
}

Json json_of(const HealthEntry& entry) {
  const Verdict& verdict = entry.verdict;
  Json json{{"fault", localize::name_of(verdict.fault)}, {"node", verdict.suspect.node.value}, {"host", entry.host}};
  put_rank(json, verdict.suspect.rank);
  json["nodes"] = Json::array();
  for (const NodeId node : verdict.nodes) json["nodes"].push_back(node.value);
  json["analyst"] = verdict.analyst.value;
  json["incarnation"] = entry.life.value;
  json["decided"] = entry.decided;
  json["expires"] = entry.expires;
  json["text"] = entry.text;
  json["evidence"] = Json::array();
  for (const Observation& seen : verdict.evidence) json["evidence"].push_back(to_json(seen));
  json["probes"] = Json::array();
  for (const localize::Finding& finding : verdict.findings)
    json["probes"].push_back(Json{{"fact", localize::fact_name(finding.fact)}, {"value", finding.value}});
  if (verdict.blocker) json["calls"] = cairn::json_of(*verdict.blocker);
  return json;
}

HealthEntry read_entry(const JsonView& json) {
  HealthEntry entry;
  Verdict& verdict = entry.verdict;
  const std::string fault = json["fault"].text();
  const bool undetermined = fault == localize::name_of(localize::Fault::undetermined);
  if (!undetermined) verdict.fault = known_value(json["fault"], localize::fault_named(fault));
  verdict.suspect = {NodeId{json["node"].number32()}, rank_of(json)};
  entry.host = json["host"].text();
  const JsonView nodes = json["nodes"];
  for (std::size_t i = 0; i < nodes.size() && json.good(); ++i) verdict.nodes.push_back({nodes.at(i).number32()});
  verdict.analyst.value = json["analyst"].number32();
  entry.life.value = json["incarnation"].number32();
  entry.decided = json["decided"].number();
  entry.expires = json["expires"].number();
  entry.text = json["text"].text();
  const JsonView evidence = json["evidence"];
  for (std::size_t i = 0; i < evidence.size() && json.good(); ++i)
    verdict.evidence.push_back(read_observation(evidence.at(i), verdict.suspect.node));
  const JsonView probes = json["probes"];
  for (std::size_t i = 0; i < probes.size() && json.good(); ++i) {
    const JsonView probe = probes.at(i);
    verdict.findings.push_back(
        {known_value(probe["fact"], localize::fact_named(probe["fact"].text())), probe["value"].real()});
  }
  if (json.has("calls")) verdict.blocker = read_blocker(json["calls"], verdict.suspect);
  return entry;
}

}  // namespace

Json json_of(const localize::Blocker& blocker) {
  Json json{{"state", kDoings.at(static_cast<std::size_t>(blocker.doing))}, {"seconds", blocker.seconds}};
  json["call"] = blocker.call;
  json["awaited"] = blocker.awaited;
  json["waiting"] = blocker.waiting;
  json["waited_seconds"] = blocker.waited;
  json["likely"] = blocker.likely;
  json["unseen"] = blocker.unseen;
  json["silent"] = Json::array();
  for (const NodeId node : blocker.silent) json["silent"].push_back(node.value);
  if (!blocker.deadlock()) return json;
  json["ranks"] = Json::array();
  for (const Rank rank : blocker.ranks) json["ranks"].push_back(rank.value);
  return json;
}

std::string to_json(const HealthFile& health, const Sealer& sealer) {
  Json json{{"kind", kHealthKind}, {"format", sealer.format(kRecordFormats)}};
  json["incarnation"] = health.life.value;
  json["verdicts"] = Json::array();
  for (const HealthEntry& entry : health.entries) json["verdicts"].push_back(json_of(entry));
  return sealer.seal(json);
}

Result<HealthFile> parse_health_file(const std::string& text, const Sealer& sealer) {
  return read_json<HealthFile>(text, kHealthKind, sealer, [](const JsonView& root) {
    HealthFile health;
    health.life = {root["incarnation"].number32()};
    const JsonView verdicts = root["verdicts"];
    if (verdicts.size() > kMostHealthEntries) verdicts.complain("has too many entries");
    for (std::size_t i = 0; i < verdicts.size() && root.good(); ++i)
      health.entries.push_back(read_entry(verdicts.at(i)));
    return health;
  });
}

}  // namespace cairn
