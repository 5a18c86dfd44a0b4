#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "commands.hpp"
#include "format/json_text.hpp"
#include "inspect/audit.hpp"
#include "progress_bar.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

using cairn::Audit;
using cairn::Finding;
using cairn::LevelId;
using cairn::Rank;
using cairn::SnapshotAudit;

constexpr Finding::State kEveryState[] = {Finding::State::good,      Finding::State::damaged, Finding::State::missing,
                                          Finding::State::retired,   Finding::State::newer,   Finding::State::untrusted,
                                          Finding::State::unreadable};

std::size_t count_unknown(const Audit& audit) {
  std::size_t sum = 0;
  for (const Finding::State state : kEveryState) sum += is_unknown(state) ? audit.count(state) : 0;
  return sum;
}

std::map<LevelId, std::vector<Rank>> ranks_by_source(const cairn::Recovery& recovery) {
  std::map<LevelId, std::vector<Rank>> by_level;
  for (const cairn::Delivery& source : recovery.sources) by_level[source.level].push_back(source.rank);
  return by_level;
}

std::string recovery_text(const cairn::Recovery& recovery) {
  if (!recovery.possible) return "not recoverable: " + recovery.why_not;
  std::string text;
  for (const auto& [level, ranks] : ranks_by_source(recovery)) {
    text += fmt::format("{}{} from {}", text.empty() ? "" : ", ", ranks_text(ranks), level_text(level));
  }
  return "recoverable: " + text;
}

bool is_retired(const SnapshotAudit& snapshot) {
  return snapshot.count(Finding::State::retired) > 0 && snapshot.count(Finding::State::damaged) == 0 &&
         snapshot.count(Finding::State::missing) == 0 && snapshot.count(Finding::State::unreadable) == 0 &&
         !snapshot.recovery.possible;
}

// "ranks 0-7: L1, L2": the ranks of which the same things are good.
std::string good_text(const SnapshotAudit& snapshot) {
  std::map<Rank, std::string> levels;
  std::size_t parity = 0;
  for (const LevelId level : cairn::kAllLevels) {
    std::map<Rank, bool> good;
    for (const Finding& finding : snapshot.findings) {
      if (finding.level != level) continue;
      if (level == LevelId::erasure) parity += finding.state == Finding::State::good;
      for (const Rank rank : finding.ranks) {
        const bool is_good = finding.state == Finding::State::good;
        good[rank] = good.contains(rank) ? good[rank] && is_good : is_good;
      }
    }
    for (const auto& [rank, is_good] : good) {
      if (is_good) levels[rank] += (levels[rank].empty() ? "" : ", ") + level_text(level);
    }
  }
  std::map<std::string, std::vector<Rank>> ranks;
  for (const auto& [rank, text] : levels) ranks[text].push_back(rank);
  std::string lines;
  for (const auto& [text, all] : ranks) lines += fmt::format("  good: {}: {}\n", ranks_text(all), text);
  if (parity > 0) lines += fmt::format("  good: {} of parity (L3)\n", count_text(parity, "file"));
  return lines;
}

void print_snapshot(const SnapshotAudit& snapshot, const Audit& audit, bool quiet) {
  const auto& view = snapshot.view;
  const bool all_good = snapshot.count(Finding::State::good) == snapshot.findings.size() && snapshot.recovery.possible;
  if (quiet && all_good) return;
  fmt::print("{}: {} on {}, {}\n", identity_text(view.identity), count_text(view.layout.node_of_rank.size(), "rank"),
             count_text(view.layout.nodes, "node"), levels_text(view));
  if (!quiet) fmt::print("{}", good_text(snapshot));
  for (const Finding& finding : snapshot.findings) {
    if (finding.state != Finding::State::good)
      fmt::print("  {}: {}\n", state_text(finding.state), finding_text(finding));
  }
  if (!quiet) {
    for (const std::string& note : snapshot.notes) fmt::print("  note: {}\n", note);
  }
  if (is_retired(snapshot))
    fmt::print("  retired while reading\n");
  else
    fmt::print("  {}\n", recovery_text(snapshot.recovery));
  if (view.identity.incarnation < audit.fresh_start)
    fmt::print("  note: a restart does not use snapshots from before the fresh start of incarnation {}\n",
               audit.fresh_start.value);
  if (!audit.branch.has(view.identity))
    fmt::print(
        "  note: a restart does not use this snapshot, because {}; it can be chosen\n",
        audit.branch.has_rejected(view.identity) ? "the program has rejected it" : "an older version was chosen");
}

std::optional<cairn::Version> newest_recoverable(const Audit& audit) {
  const auto newest = std::ranges::find_if(audit.snapshots, [&](const SnapshotAudit& snapshot) {
    const cairn::Identity& id = snapshot.view.identity;
    return snapshot.recovery.possible && id.incarnation >= audit.fresh_start && audit.branch.has(id);
  });
  if (newest == audit.snapshots.end()) return {};
  return newest->view.identity.version;
}

std::string summary_text(const Audit& audit) {
  using enum Finding::State;
  const std::size_t bad = audit.count(damaged) + audit.count(missing) + count_unknown(audit);
  std::string text = fmt::format("{} of {} read, {}: ", count_text(audit.count(good) + audit.count(damaged), "file"),
                                 count_text(audit.snapshots.size(), "snapshot"), size_text(audit.bytes_read));
  if (bad == 0) text += "all good";
  const char* separator = "";
  for (const auto state : {damaged, missing, newer, untrusted, unreadable}) {
    if (audit.count(state) == 0) continue;
    text +=
        fmt::format("{}{} {}", separator, audit.count(state), state == newer ? "of a newer format" : state_text(state));
    separator = ", ";
  }
  if (audit.count(retired) > 0) text += fmt::format(", {} retired while reading", audit.count(retired));
  const auto newest = newest_recoverable(audit);
  return text + (newest ? fmt::format("; newest recoverable: version {}", newest->value) : "; nothing is recoverable");
}

Json json_of(const Finding& finding) {
  Json json{{"state", state_text(finding.state)}, {"where", finding.where}};
  json["level"] = finding.level ? Json(level_text(*finding.level)) : Json();
  json["ranks"] = numbers(finding.ranks);
  if (!finding.what.empty()) json["what"] = finding.what;
  return json;
}

Json json_of(const SnapshotAudit& snapshot) {
  Json json = Json::object();
  put_identity(json, snapshot.view.identity);
  json["levels"] = levels_json(snapshot.view);
  json["nodes"] = snapshot.view.layout.nodes;
  json["ranks"] = snapshot.view.layout.node_of_rank.size();
  json["recoverable"] = snapshot.recovery.possible;
  json["sources"] = Json::object();
  for (const auto& [level, ranks] : ranks_by_source(snapshot.recovery))
    json["sources"][level_text(level)] = numbers(ranks);
  if (!snapshot.recovery.possible) json["why_not"] = snapshot.recovery.why_not;
  json["files"] = Json::array();
  for (const Finding& finding : snapshot.findings) json["files"].push_back(json_of(finding));
  json["notes"] = snapshot.notes;
  return json;
}

void print_json(const OpenStores& opened, const Audit& audit) {
  Json root{{"job", opened.job}, {"snapshots", Json::array()}, {"others", Json::array()}};
  for (const SnapshotAudit& snapshot : audit.snapshots) root["snapshots"].push_back(json_of(snapshot));
  for (const Finding& finding : audit.others) root["others"].push_back(json_of(finding));
  root["ignored"] = ignored_json(opened, audit.ignored);
  for (const Finding::State state : kEveryState) root["summary"][std::string(state_text(state))] = audit.count(state);
  root["summary"]["bytes_read"] = audit.bytes_read;
  const auto newest = newest_recoverable(audit);
  root["summary"]["newest_recoverable"] = newest ? Json(newest->value) : Json();
  root["summary"]["text"] = summary_text(audit);
  fmt::print("{}\n", cairn::json_text(root, 1));
}

}  // namespace

cairn::Result<ExitCode> verify(const Request& request) {
  const auto opened = open_stores(request.target);
  if (!opened) return cairn::fail(opened.error());
  cairn::AuditOptions options;
  if (request.version) options.version = cairn::Version{*request.version};
  ProgressBar bar;
  if (!request.quiet) options.progress = bar.follow();
  const auto audit = audit_stores(opened->stores, options);
  bar.clear();
  if (!audit) return cairn::fail(audit.error());
  if (audit->snapshots.empty() && audit->others.empty()) {
    if (!request.version) return cairn::fail(no_snapshots(*opened, audit->ignored));
    const auto survey = take_survey(opened->stores);
    if (!survey) return cairn::fail(survey.error());
    return cairn::fail(no_such_version(*opened, *request.version, *survey));
  }

  if (request.json) {
    print_json(*opened, *audit);
  } else {
    for (const SnapshotAudit& snapshot : audit->snapshots) print_snapshot(snapshot, *audit, request.quiet);
    for (const Finding& finding : audit->others)
      fmt::print("{}: {}\n", state_text(finding.state), finding_text(finding));
    for (const cairn::Ignored& one : audit->ignored) {
      if (!request.quiet) fmt::print("ignored: {}\n", ignored_text(*opened, one));
    }
    fmt::print("{}\n", summary_text(*audit));
  }
  // If something cannot be read, or not by this version, it is not known whether all is good.
  if (count_unknown(*audit) > 0) return kUnusable;
  return audit->count(Finding::State::damaged) + audit->count(Finding::State::missing) > 0 ? kDamage : kGood;
}

}  // namespace ckpt_tool
