// The result of a rehearsal for programs.
#include <string>

#include <nlohmann/json.hpp>

#include "rehearsal.hpp"

namespace ckpt_run {
namespace {

using Json = nlohmann::ordered_json;

Json deaths_json(const std::vector<cairn::PlannedDeath>& deaths) {
  Json all = Json::array();
  for (const auto& [call, rank] : deaths) all.push_back({{"call", call}, {"rank", rank.value}});
  return all;
}

const char* name_of(RegionDifference::Kind kind) {
  switch (kind) {
    case RegionDifference::Kind::values: return "values";
    case RegionDifference::Kind::shape: return "shape";
    case RegionDifference::Kind::missing: return "missing";
    case RegionDifference::Kind::added: return "added";
  }
  return "";
}

Json regions_json(const RunDifference& difference) {
  Json all = Json::array();
  for (const RegionDifference& one : difference.regions) {
    Json region{{"region", one.region}, {"rank", one.rank.value}, {"differs_in", name_of(one.kind)}};
    if (one.kind == RegionDifference::Kind::values)
      region.update({{"elements", one.elements}, {"differing", one.differing}, {"first", one.first}});
    region.update({{"undisturbed", one.expected}, {"after_failures", one.found}});
    all.push_back(std::move(region));
  }
  return all;
}

Json findings_json(const std::vector<RehearsalFinding>& findings) {
  Json all = Json::array();
  for (const RehearsalFinding& one : findings)
    all.push_back(
        {{"kind", name_of(one.kind)}, {"rank", one.rank.value}, {"ranks", one.ranks}, {"text", text_of(one)}});
  return all;
}

}  // namespace

std::string json_of(const Rehearsed& rehearsed, double tolerance) {
  Json all{{"same_result", rehearsed.has_same_result()},
           {"calls", rehearsed.calls},
           {"calls_after_failures", rehearsed.calls_after},
           {"deaths", deaths_json(rehearsed.deaths)},
           {"not_died", deaths_json(rehearsed.not_died)},
           {"tolerance", tolerance},
           {"regions", rehearsed.difference.compared},
           {"bytes", rehearsed.difference.bytes},
           {"differences", regions_json(rehearsed.difference)},
           {"undisturbed_runs_differ", rehearsed.repeated ? Json(!rehearsed.repeated->none()) : Json()},
           {"longest_quiet_ms", rehearsed.quiet.time.count()},
           {"findings", findings_json(rehearsed.findings)}};
  if (rehearsed.failed) all["error"] = rehearsed.failed->text();
  // A name of a region may be in Latin-1.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ckpt_run
