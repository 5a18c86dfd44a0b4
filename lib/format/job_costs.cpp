#include "format/job_costs.hpp"

#include "format/layout_json.hpp"

namespace cairn {
namespace {

constexpr std::string_view kKind = "measured costs";

void put_known(Json& json, const char* key, double seconds) {
  if (seconds > 0) json[key] = seconds;
}

double seconds_of(const JsonView& level, const char* key) { return level.has(key) ? level[key].real() : 0; }

}  // namespace

std::string to_json(const JobCosts& measured, const Sealer& sealer) {
  Json json{{"kind", kKind}, {"format", sealer.format(kRecordFormats)}};
  json["incarnation"] = measured.life.value;
  json["ended"] = measured.ended;
  json["observed"] = measured.observed;
  json["levels"] = Json::array();
  for (std::size_t i = 0; i < measured.levels.size(); ++i) {
    const LevelCosts& level = measured.levels[i];
    Json entry{{"level", i + 1}};
    put_known(entry, "cost", level.cost);
    put_known(entry, "recovery", level.recovery);
    put_known(entry, "mtbf", level.mtbf);
    entry["failures"] = level.failures;
    json["levels"].push_back(std::move(entry));
  }
  return sealer.seal(json);
}

Result<JobCosts> parse_job_costs(const std::string& text, const Sealer& sealer) {
  return read_json<JobCosts>(text, kKind, sealer, [](const JsonView& root) {
    JobCosts measured;
    measured.life = {root["incarnation"].number32()};
    measured.ended = root["ended"].boolean();
    measured.observed = root["observed"].real();
    const JsonView levels = root["levels"];
    levels.expect_size(measured.levels.size());
    for (std::size_t i = 0; i < measured.levels.size() && root.good(); ++i) {
      const JsonView from = levels.at(i);
      if (from["level"].number() != i + 1) from["level"].complain("is out of order, should be 1 to 4");
      measured.levels[i] = {seconds_of(from, "cost"), seconds_of(from, "recovery"), seconds_of(from, "mtbf"),
                            from["failures"].number()};
    }
    return measured;
  });
}

}  // namespace cairn
