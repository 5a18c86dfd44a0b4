// ckpt-tool list where several jobs have files: one line for each.
#include <algorithm>
#include <ctime>
#include <iterator>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "commands.hpp"
#include "format/json_text.hpp"
#include "space.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

struct Row {
  std::string job;
  std::vector<cairn::SnapshotView> snapshots;
  std::optional<cairn::Version> recoverable;  // the newest one that a restart could restore
  Space space;
  std::vector<std::string> problems;
  ExitCode code = kGood;
};

Row row_of(const Places& places, const std::string& job) {
  Row row{job, {}, {}, {}, {}, kGood};
  const auto fails = [&](const cairn::Error& error) {
    row.problems.push_back(error.text());
    row.code = kUnusable;
    return row;
  };
  const auto opened = open_job(places, job);
  if (!opened) return fails(opened.error());
  const JobSpace space = measure_space(*opened);
  row.space = space.nodes;
  row.space += space.global;
  const auto survey = take_survey(opened->stores);
  if (!survey) return fails(survey.error());
  row.snapshots = view_snapshots(*survey);
  const auto newest = std::ranges::find_if(row.snapshots, [&](const cairn::SnapshotView& view) {
    return survey->may_restore(view.identity) && plan_recovery(*survey, view).possible;
  });
  if (newest != row.snapshots.end()) row.recoverable = newest->identity.version;
  for (const cairn::Finding& finding : survey->findings) {
    if (finding.level) continue;
    row.problems.push_back(finding_text(finding));
    row.code = worse(row.code, finding);
  }
  return row;
}

std::string version_text(const std::optional<cairn::Version>& version) {
  return version ? fmt::format("{}", version->value) : "-";
}

void print_table(const std::vector<Row>& all) {
  std::vector<std::vector<std::string>> rows{
      {"job", "snapshots", "newest", "newest recoverable", "last written", "size", "recycled"}};
  for (const Row& row : all) {
    std::optional<cairn::Version> newest;
    if (!row.snapshots.empty()) newest = row.snapshots.front().identity.version;
    rows.push_back({row.job, fmt::format("{}", row.snapshots.size()), version_text(newest),
                    version_text(row.recoverable),
                    row.space.written == 0 ? "-" : fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(row.space.written)),
                    size_text(row.space.used()), size_text(row.space.of(Space::Kind::recycled))});
  }
  fmt::print("{}\n{}--job NAME shows the snapshots of one job\n", count_text(all.size(), "job"), table_text(rows));
}

void print_json(const std::vector<Row>& all) {
  Json root{{"jobs", Json::array()}};
  for (const Row& row : all) {
    Json json{
        {"job", row.job}, {"snapshots", row.snapshots.size()}, {"newest", Json()}, {"newest_recoverable", Json()}};
    if (!row.snapshots.empty()) json["newest"] = row.snapshots.front().identity.version.value;
    if (row.recoverable) json["newest_recoverable"] = row.recoverable->value;
    json["last_written"] = row.space.written == 0 ? Json() : Json(row.space.written);
    json["bytes"] = row.space.used();
    json["recycled_bytes"] = row.space.of(Space::Kind::recycled);
    json["problems"] = row.problems;
    root["jobs"].push_back(std::move(json));
  }
  fmt::print("{}\n", cairn::json_text(root, 1));
}

}  // namespace

ExitCode list_jobs(const Places& places, const std::set<std::string>& jobs, bool json) {
  std::vector<Row> all;
  std::ranges::transform(jobs, std::back_inserter(all), [&](const auto& job) { return row_of(places, job); });
  if (json)
    print_json(all);
  else
    print_table(all);
  ExitCode code = kGood;
  for (const Row& row : all) {
    for (const std::string& problem : row.problems) complain(row.job + ": " + problem);
    code = std::max(code, row.code);
  }
  return code;
}

}  // namespace ckpt_tool
