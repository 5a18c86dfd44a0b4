#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/plain_text.hpp"
#include "commands.hpp"
#include "format/json_text.hpp"
#include "space.hpp"
#include "store/names.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

using cairn::Finding;
using cairn::RunRecord;
using cairn::SnapshotView;
using cairn::Survey;

std::optional<double> seconds_since_written(const std::string& path) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  if (error) return {};
  const auto now = std::filesystem::file_time_type::clock::now();
  return std::max(0.0, std::chrono::duration<double>(now - written).count());
}

// Time since its first file was written, as far as the files still show.
std::optional<double> age_of(const OpenStores& opened, const Survey& survey, const cairn::Identity& snapshot) {
  std::optional<double> age;
  const auto take = [&](cairn::StoreId holder, const cairn::FileName& file) {
    const auto seconds = seconds_since_written(opened.stores.path_of(holder, file));
    if (seconds) age = std::max(age.value_or(0), *seconds);
  };
  for (const cairn::StoreId holder : survey.node_stores()) {
    const auto* manifest = find_manifest(survey, holder, snapshot);
    if (manifest == nullptr) continue;
    const auto files = survey.inventory.levels.files(*manifest);
    const auto own = std::ranges::find(files, survey.inventory.levels.of_own_shards(), &cairn::NamedFile::level);
    if (own != files.end()) take(holder, own->name);
  }
  for (const auto& [level, there] : survey.shared_of(snapshot)) {
    take(*survey.inventory.levels.at(level).traits().shared_store,
         cairn::names::manifest(cairn::names::snapshot(snapshot)));
  }
  return age;
}

Json json_of(const RunRecord& run) {
  Json json{{"incarnation", run.incarnation.value}, {"run", cairn::names::hex(run.run)}};
  json["parent"] = run.parent == RunRecord::Parent::fresh ? "fresh" : "undecided";
  if (run.parent == RunRecord::Parent::snapshot) {
    json["parent"] = Json::object();
    put_identity(json["parent"], run.parent_snapshot);
  }
  json["finished"] = run.finished;
  for (const cairn::Choice& choice : run.choices) {
    put_identity(json["chosen"].emplace_back(Json::object()), choice.snapshot);
  }
  return json;
}

std::string text_of(const RunRecord& run) {
  std::string from = "started fresh";
  if (run.parent == RunRecord::Parent::undecided) from = "has not restored or taken a snapshot yet";
  if (run.parent == RunRecord::Parent::snapshot) {
    from = fmt::format("restored version {} of incarnation {}", run.parent_snapshot.version.value,
                       run.parent_snapshot.incarnation.value);
  }
  std::string chosen;
  for (const cairn::Choice& choice : run.choices)
    chosen += fmt::format("{}{}", chosen.empty() ? ", chosen: version " : ", ", choice.snapshot.version.value);
  return fmt::format("incarnation {} (run {}) {}{}{}", run.incarnation.value, cairn::names::hex(run.run), from, chosen,
                     run.finished ? ", finished" : "");
}

struct Listed {
  SnapshotView view;
  std::optional<double> age;
  bool recoverable = false;
  bool superseded = false;  // by a fresh start
  bool abandoned = false;   // since another version was chosen
  bool rejected = false;    // by the program
  bool pinned = false;
};

std::string note_of(const Listed& listed) {
  std::string note;
  if (const std::string& label = listed.view.notes.label; !label.empty())
    note = fmt::format("\"{}\"", cairn::escaped_for_terminal(label));
  const auto add = [&](const std::string& text) { note += (note.empty() ? "" : ", ") + text; };
  if (!listed.view.absent.empty()) add(nodes_text(listed.view.absent) + " not found");
  if (!listed.recoverable) add("not recoverable");
  if (listed.superseded) add("older than the newest fresh start");
  if (listed.abandoned) add("abandoned");
  if (listed.rejected) add("rejected");
  if (listed.pinned) add("pinned");
  return note;
}

void print_table(const OpenStores& opened, const std::vector<Listed>& snapshots, const Survey& survey) {
  constexpr std::size_t kRunDigits = 8;
  std::vector<std::vector<std::string>> rows{
      {"version", "incarnation", "run", "levels", "nodes", "ranks", "size", "age", ""}};
  for (const Listed& listed : snapshots) {
    const auto& [identity, layout, levels, absent, bytes, notes] = listed.view;
    rows.push_back({fmt::format("{}", identity.version.value), fmt::format("{}", identity.incarnation.value),
                    cairn::names::hex(identity.run).substr(0, kRunDigits), levels_text(listed.view),
                    fmt::format("{}", layout.nodes), fmt::format("{}", layout.node_of_rank.size()), size_text(bytes),
                    listed.age ? age_text(*listed.age) : "?", note_of(listed)});
  }
  fmt::print("job {}: {}\n{}", opened.job, count_text(snapshots.size(), "snapshot"), table_text(rows));
  for (const cairn::Ignored& one : survey.ignored) fmt::print("ignored: {}\n", ignored_text(opened, one));
  for (const RunRecord& run : survey.runs) fmt::print("{}\n", text_of(run));
  fmt::print("{}", space_text(measure_space(opened)));
}

void print_json(const OpenStores& opened, const std::vector<Listed>& snapshots, const Survey& survey,
                const std::vector<std::string>& problems) {
  Json root{{"job", opened.job}, {"snapshots", Json::array()}, {"runs", Json::array()}};
  for (const Listed& listed : snapshots) {
    Json json = Json::object();
    put_identity(json, listed.view.identity);
    json["levels"] = levels_json(listed.view);
    for (const cairn::LevelId level : cairn::kAllLevels)
      json["nodes_at"][level_text(level)] = listed.view.at(level).held;
    json["nodes"] = listed.view.layout.nodes;
    json["ranks"] = listed.view.layout.node_of_rank.size();
    json["bytes"] = listed.view.bytes;
    json["age_seconds"] = listed.age ? Json(*listed.age) : Json();
    json["recoverable"] = listed.recoverable;
    json["superseded"] = listed.superseded;
    json["abandoned"] = listed.abandoned;
    json["rejected"] = listed.rejected;
    json["pinned"] = listed.pinned;
    put_notes_json(json, listed.view.notes);
    root["snapshots"].push_back(std::move(json));
  }
  for (const RunRecord& run : survey.runs) root["runs"].push_back(json_of(run));
  root["space"] = space_json(measure_space(opened));
  root["ignored"] = ignored_json(opened, survey.ignored);
  root["problems"] = problems;
  fmt::print("{}\n", cairn::json_text(root, 1));
}

}  // namespace

cairn::Result<ExitCode> list(const Request& request) {
  auto places = find_places(request.target);
  if (!places) return cairn::fail(places.error());
  if (places->job.empty()) {
    const auto jobs = jobs_at(*places);
    if (!jobs) return cairn::fail(jobs.error());
    if (jobs->size() > 1) return list_jobs(*places, *jobs, request.json);
    places->job = *jobs->begin();
  }
  const auto opened = open_job(*places, places->job);
  if (!opened) return cairn::fail(opened.error());
  if (opened->empty()) return cairn::fail(opened->nothing("snapshots"));
  const auto survey = take_survey(opened->stores);
  if (!survey) return cairn::fail(survey.error());

  std::vector<Listed> snapshots;
  for (SnapshotView& view : view_snapshots(*survey)) {
    const auto age = age_of(*opened, *survey, view.identity);
    const bool recoverable = plan_recovery(*survey, view).possible;
    const bool superseded = view.identity.incarnation < survey->fresh_start;
    const bool rejected = survey->branch.has_rejected(view.identity);
    const bool abandoned = !rejected && !survey->branch.has(view.identity);
    const bool pinned = survey->pins.contains(view.identity);
    snapshots.push_back({std::move(view), age, recoverable, superseded, abandoned, rejected, pinned});
  }
  // Files that are missing show in the levels; what cannot be read at all has to be reported.
  std::vector<std::string> problems;
  ExitCode code = kGood;
  for (const Finding& finding : survey->findings) {
    if (finding.level) continue;
    problems.push_back(finding_text(finding));
    code = worse(code, finding);
  }
  if (request.json)
    print_json(*opened, snapshots, *survey, problems);
  else if (!snapshots.empty())
    print_table(*opened, snapshots, *survey);
  for (const std::string& problem : problems) complain(problem);
  if (!snapshots.empty() || !problems.empty()) return code;
  return cairn::fail(no_snapshots(*opened, survey->ignored));
}

}  // namespace ckpt_tool
