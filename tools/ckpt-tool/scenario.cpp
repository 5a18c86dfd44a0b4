#include "scenario.hpp"

#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "text.hpp"

namespace ckpt_tool {
namespace {

using cairn::Code;
using cairn::fail;
using cairn::Result;
using cairn::Status;
using cairn::model::LevelModel;

constexpr double kNever = std::numeric_limits<double>::infinity();

// What is known about one level so far, as times.
struct Times {
  double number = std::nan("");  // of the level, where a file says it
  double cost = std::nan("");
  double recovery = std::nan("");
  double mtbf = std::nan("");
};

Result<std::vector<Times>> read_measured(const std::string& file) {
  std::ifstream in(file);
  if (!in) return fail(Code::not_found, file + ": cannot be read");
  const auto json = nlohmann::json::parse(in, nullptr, false);
  const std::string form = R"(write {"levels": [{"cost": 1, "recovery": 0.5, "mtbf": 1800}, …]}, in seconds)";
  if (!json.is_object() || !json.contains("levels") || !json["levels"].is_array())
    return fail(Code::corrupt, file + ": has no list of levels", form);
  std::vector<Times> levels;
  for (const auto& entry : json["levels"]) {
    Times& level = levels.emplace_back();
    const std::pair<const char*, double*> fields[] = {
        {"level", &level.number}, {"cost", &level.cost}, {"recovery", &level.recovery}, {"mtbf", &level.mtbf}};
    for (const auto& [name, value] : fields) {
      if (!entry.is_object() || (entry.contains(name) && !entry[name].is_number()))
        return fail(Code::corrupt, fmt::format("{}: level {}: {} is not a number", file, levels.size(), name), form);
      if (entry.contains(name)) *value = entry[name].get<double>();
    }
  }
  return levels;
}

// Drops the levels that a job has not measured. Their failures are left to the next level above, if there is one.
std::vector<Times> measured_only(const std::vector<Times>& levels) {
  std::vector<Times> out;
  double rate = 0;  // of failures of levels dropped
  for (const Times& level : levels) {
    if (!std::isnan(level.number) && std::isnan(level.cost)) {
      rate += std::isnan(level.mtbf) ? 0 : 1 / level.mtbf;
      continue;
    }
    out.push_back(level);
    if (rate > 0) out.back().mtbf = 1 / (rate + 1 / level.mtbf);
    rate = 0;
  }
  return out;
}

// Which levels the file's entries are for; empty: it does not say.
std::vector<unsigned> numbers_in(const std::vector<Times>& levels) {
  std::vector<unsigned> numbers;
  for (const Times& level : levels) {
    const bool possible = level.number >= 1 && level.number <= cairn::kLevels;
    if (!std::isnan(level.number)) numbers.push_back(possible ? static_cast<unsigned>(level.number) : 0);
  }
  return numbers;
}

// Stores a list of the command line, if there is one, in one field of each level.
Status put(const std::string& option, const std::vector<std::string>& texts, double Times::*field,
           std::vector<Times>& levels) {
  if (texts.empty()) return {};
  if (levels.empty()) levels.resize(texts.size());
  if (texts.size() != levels.size())
    return fail(Code::invalid_argument, fmt::format("{}: {} times for {} levels", option, texts.size(), levels.size()));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto seconds = parse_seconds(texts[i]);
    if (!seconds) return fail(seconds.error().in(option));
    levels[i].*field = *seconds;
  }
  return {};
}

Status put_shares(const ScenarioOptions& options, std::vector<Times>& levels) {
  if (options.node_mtbf.empty()) return {};
  const auto node_mtbf = parse_seconds(options.node_mtbf);
  if (!node_mtbf) return fail(node_mtbf.error().in("--node-mtbf"));
  if (options.nodes == 0) return fail(Code::invalid_argument, "--node-mtbf needs the number of nodes", "--nodes 1000");
  if (options.shares.size() != levels.size())
    return fail(Code::invalid_argument, fmt::format("{} shares for {} levels", options.shares.size(), levels.size()),
                "--shares 0.7,0.2,0.1: the share of failures that need each level");
  double sum = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (!(options.shares[i] >= 0)) return fail(Code::invalid_argument, "--shares: a share below 0");
    sum += options.shares[i];
    levels[i].mtbf = options.shares[i] > 0 ? *node_mtbf / options.nodes / options.shares[i] : kNever;
  }
  if (std::abs(sum - 1) > 1e-6)
    return fail(Code::invalid_argument, fmt::format("--shares: their sum is {:g}", sum), "must be 1");
  return {};
}

Result<std::vector<cairn::LevelId>> ids_of(const std::vector<unsigned>& numbers, std::size_t count) {
  std::vector<cairn::LevelId> ids;
  if (!numbers.empty() && numbers.size() != count)
    return fail(Code::invalid_argument, fmt::format("{} levels are named for {} costs", numbers.size(), count));
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned number = numbers.empty() ? static_cast<unsigned>(i) + 1 : numbers[i];
    if (number < 1 || number > cairn::kLevels || (i > 0 && number <= static_cast<unsigned>(ids.back())))
      return fail(Code::invalid_argument,
                  fmt::format("--levels: {} is not a level, or not above the one before", number),
                  "give levels from 1 to 4 in ascending order");
    ids.push_back(static_cast<cairn::LevelId>(number));
  }
  return ids;
}

}  // namespace

Result<double> parse_seconds(const std::string& text) {
  constexpr double kHour = 3600;
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", kHour}, {"d", 24 * kHour}, {"y", 365.25 * 24 * kHour}};
  if (text == "never") return kNever;
  double count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit_text(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& [name, seconds] : kUnits) {
    if (error == std::errc{} && std::isfinite(count) && count >= 0 && unit_text == name) return count * seconds;
  }
  return fail(Code::invalid_argument, "'" + text + "' is not a time", "write 0.5s, 90s, 10min, 12h, 3d or 5y");
}

Result<Scenario> read_scenario(const ScenarioOptions& options) {
  std::vector<Times> times;
  if (!options.measured.empty()) {
    auto measured = read_measured(options.measured);
    if (!measured) return fail(measured.error());
    times = measured_only(*measured);
  }
  if (!options.mtbfs.empty() && !options.node_mtbf.empty())
    return fail(Code::invalid_argument, "--mtbf and --node-mtbf exclude each other", "give one of them");
  Status good = put("--cost", options.costs, &Times::cost, times);
  if (good) good = put("--recovery", options.recoveries, &Times::recovery, times);
  if (good) good = put("--mtbf", options.mtbfs, &Times::mtbf, times);
  if (good) good = put_shares(options, times);
  if (!good) return fail(good.error());

  if (times.empty()) {
    return options.measured.empty()
               ? fail(Code::invalid_argument, "neither costs nor MTBFs of levels are given",
                      "--cost 1s,6s,8s,90s --mtbf 12h,3d,10d,60d, or --measured checkpoints/heat/costs.json")
               : fail(Code::not_found, options.measured + ": no level has been measured",
                      "a job whose [levels] are auto measures them; or give --cost and --mtbf");
  }

  auto ids = ids_of(options.numbers.empty() ? numbers_in(times) : options.numbers, times.size());
  if (!ids) return fail(ids.error());
  Scenario scenario{std::move(*ids), {}};
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Times& level = times[i];
    const std::string name = level_text(scenario.ids[i]);
    if (std::isnan(level.cost)) return fail(Code::invalid_argument, name + ": no cost", "--cost 1s,6s");
    if (std::isnan(level.mtbf))
      return fail(Code::invalid_argument, name + ": no MTBF", "--mtbf 12h,3d, or --node-mtbf, --nodes and --shares");
    if (!(level.mtbf > 0)) return fail(Code::invalid_argument, name + ": an MTBF of 0", "must be above 0, or never");
    const double recovery = std::isnan(level.recovery) ? level.cost : level.recovery;
    scenario.levels.push_back({level.cost, recovery, 1 / level.mtbf});
  }
  if (auto possible = cairn::model::check(scenario.levels); !possible) return fail(possible.error());
  return scenario;
}

std::string pattern_text(const Scenario& scenario, const cairn::model::Pattern& pattern) {
  std::string text;
  for (std::size_t i = 0; i < scenario.ids.size(); ++i) {
    if (!pattern.uses(i)) continue;
    const double interval = pattern.interval() * static_cast<double>(pattern.every(i));
    text +=
        fmt::format("{}{} every {}", text.empty() ? "" : ", ", level_text(scenario.ids[i]), duration_text(interval));
  }
  return text.empty() ? "no snapshots" : text;
}

Scenario with_mtbf(Scenario scenario, double factor) {
  for (LevelModel& level : scenario.levels) level.rate /= factor;
  return scenario;
}

double overall_mtbf(const Scenario& scenario) {
  double rate = 0;
  for (const LevelModel& level : scenario.levels) rate += level.rate;
  return 1 / rate;
}

}  // namespace ckpt_tool
