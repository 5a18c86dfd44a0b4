// rebuild: what is made again, and from what, is decided in lib/inspect/rebuild_plan.
#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "format/json_text.hpp"
#include "inspect/rebuild.hpp"
#include "locked_stores.hpp"
#include "progress_bar.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

using cairn::Audit;
using cairn::AuditOptions;
using cairn::Code;
using cairn::fail;
using cairn::Finding;
using cairn::NotRebuilt;
using cairn::RebuildPlan;
using cairn::RebuiltPart;
using cairn::Result;
using cairn::Status;
using cairn::Survey;
using cairn::Version;

// What is rebuilt, or would be.
struct Rebuilt {
  std::vector<RebuildPlan> plans;  // newest first
  std::vector<Finding> others;     // what no snapshot names, and what cannot be judged
};

// Newest first; none: there are no snapshots.
Result<std::vector<Version>> versions_to_rebuild(const RebuildRequest& request, const OpenStores& opened,
                                                 const Survey& survey) {
  std::vector<Version> versions;
  if (!request.version.empty()) {
    const auto snapshot = find_snapshot(opened, survey, request.version);
    if (!snapshot) return fail(snapshot.error());
    return std::vector<Version>{snapshot->identity.version};
  }
  for (const cairn::SnapshotView& view : view_snapshots(survey)) {
    if (versions.empty() || versions.back() != view.identity.version) versions.push_back(view.identity.version);
  }
  if (versions.empty()) return fail(no_snapshots(opened, survey.ignored));
  return versions;
}

// One version. `locked`: writes, too.
Status rebuild_one(const OpenStores& opened, const LockedStores* locked, const Result<cairn::ChainMark>& mark,
                   Version version, Rebuilt& rebuilt) {
  ProgressBar reads;
  AuditOptions options;
  options.version = version;
  options.progress = reads.follow();
  // Nobody writes while the stores are locked.
  if (locked != nullptr) options.patience = {};
  const auto audit = audit_stores(opened.stores, options);
  reads.clear();
  if (!audit) return fail(audit.error());
  // After what was rebuilt of a newer version, which shows for what node a store stands.
  const auto survey = take_survey(opened.stores);
  if (!survey) return fail(survey.error());
  for (const Finding& finding : audit->others) {
    const auto is_it = [&](const Finding& known) { return known.where == finding.where; };
    if (std::ranges::none_of(rebuilt.others, is_it)) rebuilt.others.push_back(finding);
  }
  for (const cairn::SnapshotAudit& snapshot : audit->snapshots) {
    RebuildPlan& plan = rebuilt.plans.emplace_back(plan_rebuild(opened.stores, *survey, snapshot));
    if (locked == nullptr) continue;
    ProgressBar bar;
    const auto follow = bar.follow();
    const cairn::RebuildSources sources{opened.stores, *survey, snapshot, mark};
    const Status status = rebuild(plan, sources, locked->stores, [&](std::uint64_t done) {
      if (follow) follow(done, plan.bytes());
    });
    bar.clear();
    if (!status) return fail(status.error().in(fmt::format("version {} was not rebuilt", version.value)));
  }
  return {};
}

Result<Rebuilt> rebuild_all(const RebuildRequest& request, const OpenStores& opened, const LockedStores* locked) {
  const auto mark = common_mark(opened.stores);
  if (!mark && mark.error().code != Code::not_found) return fail(mark.error());
  const auto survey = take_survey(opened.stores);
  if (!survey) return fail(survey.error());
  const auto versions = versions_to_rebuild(request, opened, *survey);
  if (!versions) return fail(versions.error());
  if (locked != nullptr && !sees_all_nodes(*survey)) {
    if (auto status = check_no_heads(request.target, opened); !status) return fail(status.error());
  }
  Rebuilt rebuilt;
  for (const Version version : *versions) {
    if (auto status = rebuild_one(opened, locked, mark, version, rebuilt); !status) return fail(status.error());
  }
  return rebuilt;
}

std::string_view why_text(NotRebuilt::Why why) {
  switch (why) {
    case NotRebuilt::Why::no_source: return "no_source";
    case NotRebuilt::Why::cannot_judge: return "cannot_judge";
    case NotRebuilt::Why::no_store: return "no_store";
    case NotRebuilt::Why::which_store: return "which_store";
    case NotRebuilt::Why::several_turns: return "several_turns";
    case NotRebuilt::Why::in_shared_store: return "in_shared_store";
  }
  return "unknown";
}

std::string left_text(const OpenStores& opened, const NotRebuilt& left) {
  const std::string nodes = nodes_text(left.nodes);
  switch (left.why) {
    case NotRebuilt::Why::no_source: return left.finding.what;
    case NotRebuilt::Why::cannot_judge: return "a file cannot be judged: " + finding_text(left.finding);
    case NotRebuilt::Why::no_store:
      return fmt::format("no store of {} is here; make an empty directory DIR/{}, and name DIR with --local", nodes,
                         opened.job);
    case NotRebuilt::Why::which_store:
      return fmt::format("it is not known which stores are those of {}; move the damaged ones away", nodes);
    case NotRebuilt::Why::several_turns: return fmt::format("copies on {}: it is not known of which nodes", nodes);
    case NotRebuilt::Why::in_shared_store:
      return finding_text(left.finding) + "; ckpt-tool copy writes the snapshot to another directory";
  }
  return {};
}

// "2 files of L1, 2 files of L2, the manifest"
std::string part_text(const OpenStores& opened, const RebuiltPart& part) {
  std::map<cairn::LevelId, std::uint64_t> files;
  for (const cairn::NamedFile& file : opened.stores.levels.files(part.manifest)) {
    if (std::ranges::find(part.files, file.name) != part.files.end()) ++files[file.level];
  }
  std::vector<std::string> texts;
  for (const auto& [level, count] : files)
    texts.push_back(fmt::format("{} of {}", count_text(count, "file"), level_text(level)));
  if (part.changes_manifest) texts.emplace_back("the manifest");
  return fmt::format("{}", fmt::join(texts, ", "));
}

void print_rebuilt(const RebuildRequest& request, const OpenStores& opened, const Rebuilt& rebuilt) {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  bool any = false;
  for (const RebuildPlan& plan : rebuilt.plans) {
    files += plan.files();
    bytes += plan.bytes();
    any |= !plan.parts.empty();
    if (plan.parts.empty() && plan.left.empty()) continue;
    fmt::print("{}:\n", identity_text(plan.snapshot));
    for (const RebuiltPart& part : plan.parts)
      fmt::print("  {} for node {} in {}: {}\n", request.yes ? "wrote" : "would write", part.node.value,
                 opened.stores.at(part.holder).where(), part_text(opened, part));
    for (const NotRebuilt& left : plan.left) fmt::print("  not rebuilt: {}\n", left_text(opened, left));
  }
  for (const Finding& finding : rebuilt.others) fmt::print("not rebuilt: {}\n", finding_text(finding));
  const std::string what = fmt::format("{}, {}", count_text(files, "file"), size_text(bytes));
  if (!any)
    fmt::print("job {}: there is nothing to rebuild\n", opened.job);
  else if (request.yes)
    fmt::print("job {}: rebuilt {}\n", opened.job, what);
  else
    fmt::print("job {}: {} would be written; nothing is changed without --yes\n", opened.job, what);
}

void print_rebuilt_json(const RebuildRequest& request, const OpenStores& opened, const Rebuilt& rebuilt) {
  Json root{{"job", opened.job}, {"dry_run", !request.yes}, {"snapshots", Json::array()}};
  for (const RebuildPlan& plan : rebuilt.plans) {
    Json& one = root["snapshots"].emplace_back(Json::object());
    put_identity(one, plan.snapshot);
    one["parts"] = Json::array();
    for (const RebuiltPart& part : plan.parts) {
      Json& written = one["parts"].emplace_back(Json::object());
      written["node"] = part.node.value;
      written["store"] = opened.stores.at(part.holder).where();
      written["files"] = Json::array();
      for (const cairn::FileName& file : part.files) written["files"].push_back(file.path);
      written["bytes"] = part.bytes;
      written["manifest"] = part.changes_manifest;
    }
    one["not_rebuilt"] = Json::array();
    for (const NotRebuilt& left : plan.left)
      one["not_rebuilt"].push_back(Json{{"why", why_text(left.why)}, {"what", left_text(opened, left)}});
  }
  root["others"] = Json::array();
  for (const Finding& finding : rebuilt.others)
    root["others"].push_back(
        Json{{"state", state_text(finding.state)}, {"where", finding.where}, {"what", finding.what}});
  fmt::print("{}\n", cairn::json_text(root, 1));
}

}  // namespace

Result<ExitCode> rebuild_versions(const RebuildRequest& request) {
  const auto opened = open_stores(request.target);
  if (!opened) return fail(opened.error());
  if (opened->empty()) return fail(opened->nothing("snapshots"));
  if (opened->stores.nodes.empty())
    return fail(Code::invalid_argument, "there are no node stores, which rebuild writes", "name them with --local");
  std::optional<LockedStores> locked;
  if (request.yes) {
    auto got = lock_stores(*opened);
    if (!got) return fail(got.error());
    for (const auto& [holder, store] : got->stores) {
      if (auto status = store->reclaim(cairn::Store::Writers::of_this_host); !status) return fail(status.error());
    }
    locked = std::move(*got);
  }
  const auto rebuilt = rebuild_all(request, *opened, locked ? &*locked : nullptr);
  if (!rebuilt) return fail(rebuilt.error());
  (request.json ? print_rebuilt_json : print_rebuilt)(request, *opened, *rebuilt);
  const bool all = rebuilt->others.empty() &&
                   std::ranges::all_of(rebuilt->plans, [](const RebuildPlan& plan) { return plan.left.empty(); });
  return all ? kGood : kDamage;
}

}  // namespace ckpt_tool
