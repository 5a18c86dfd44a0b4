#include "removal_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "format/json_text.hpp"
#include "store/names.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

using cairn::Removal;
using cairn::RemovalPlan;

struct Sum {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

Sum sum_of(const Removal& removal) {
  Sum sum;
  for (const cairn::StoredPart& part : removal.parts) {
    sum.files += part.files;
    sum.bytes += part.bytes;
  }
  return sum;
}

Sum sum_of(const RemovalPlan& plan) {
  Sum sum;
  for (const Removal& removal : plan.removals) {
    const Sum one = sum_of(removal);
    sum.files += one.files;
    sum.bytes += one.bytes;
  }
  return sum;
}

// Without a manifest, only its directory says what it is.
std::string name_of(const Removal& removal) {
  if (removal.snapshot.incarnation.value == 0) return removal.parts.front().dir.path;
  return identity_text(removal.snapshot);
}

std::string_view why_text(Removal::Why why) {
  switch (why) {
    case Removal::Why::chosen: return "chosen";
    case Removal::Why::old: return "old";
    case Removal::Why::incomplete: return "incomplete";
    case Removal::Why::unfinished: return "unfinished";
    case Removal::Why::damaged: return "damaged";
  }
  return "unknown";
}

std::string note_on(Removal::Why why) {
  switch (why) {
    case Removal::Why::incomplete: return "; a restart cannot use it";
    case Removal::Why::unfinished: return "; it has no manifest";
    case Removal::Why::damaged: return "; its manifests are damaged";
    case Removal::Why::chosen:
    case Removal::Why::old: break;
  }
  return {};
}

std::string versions_text(const std::vector<cairn::Identity>& snapshots) {
  std::vector<std::uint32_t> versions;
  for (const cairn::Identity& snapshot : snapshots) versions.push_back(snapshot.version.value);
  return versions.empty() ? "none" : fmt::format("{}", fmt::join(versions, ", "));
}

std::string level_names(cairn::LevelSet levels) {
  std::vector<std::string> all;
  for (const cairn::LevelId level : levels) all.push_back(level_text(level));
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string summary_text(const RemovalPlan& plan, bool done) {
  if (plan.removals.empty()) return "there is nothing to remove";
  const Sum sum = sum_of(plan);
  const std::string what = fmt::format("{}, {}, {}", count_text(plan.removals.size(), "snapshot"),
                                       count_text(sum.files, "file"), size_text(sum.bytes));
  return done ? "removed " + what : what + " would be removed; nothing is changed without --yes";
}

}  // namespace

std::string removal_text(const Removal& removal, bool done) {
  const Sum sum = sum_of(removal);
  return fmt::format("{} {}: {}, {} in {}{}", done ? "removed" : "would remove", name_of(removal),
                     count_text(sum.files, "file"), size_text(sum.bytes), count_text(removal.parts.size(), "store"),
                     note_on(removal.why));
}

void print_removals(const RemovalRequest& request, const OpenStores& opened, const RemovalPlan& plan, bool all_nodes) {
  if (!request.yes) {
    for (const Removal& removal : plan.removals) fmt::print("{}\n", removal_text(removal, false));
  }
  for (const cairn::Finding& finding : plan.spared) fmt::print("stays: {}\n", finding_text(finding));
  fmt::print("recoverable snapshots that stay: {}\n", versions_text(plan.kept));
  if (!all_nodes && !plan.removals.empty())
    fmt::print("note: not all node stores are here; files in the others stay, and a restart may find them\n");
  if (!plan.levels_lost.empty() && !plan.takes_last)
    fmt::print("note: at {}, no snapshot stays\n", level_names(plan.levels_lost));
  if (plan.takes_last)
    fmt::print("note: no snapshot can be restored then; the next run needs CAIRN_RESTART_MODE=fresh\n");
  fmt::print("job {}: {}\n", opened.job, summary_text(plan, request.yes));
}

void print_removals_json(const RemovalRequest& request, const OpenStores& opened, const RemovalPlan& plan,
                         bool all_nodes) {
  Json root{{"job", opened.job}, {"dry_run", !request.yes}, {"removals", Json::array()}};
  for (const Removal& removal : plan.removals) {
    Json& one = root["removals"].emplace_back(Json::object());
    put_identity(one, removal.snapshot);
    if (removal.snapshot.incarnation.value == 0) one["incarnation"] = nullptr;
    one["why"] = why_text(removal.why);
    one["recoverable"] = removal.recoverable;
    one["files"] = sum_of(removal).files;
    one["bytes"] = sum_of(removal).bytes;
    one["directories"] = Json::array();
    for (const cairn::StoredPart& part : removal.parts)
      one["directories"].push_back(opened.stores.at(part.holder).where() + "/" + part.dir.path);
  }
  root["kept"] = Json::array();
  for (const cairn::Identity& snapshot : plan.kept) put_identity(root["kept"].emplace_back(Json::object()), snapshot);
  root["spared"] = Json::array();
  for (const cairn::Finding& finding : plan.spared)
    root["spared"].push_back(
        Json{{"state", state_text(finding.state)}, {"where", finding.where}, {"what", finding.what}});
  root["levels_lost"] = Json::array();
  for (const cairn::LevelId level : plan.levels_lost) root["levels_lost"].push_back(level_text(level));
  root["all_nodes"] = all_nodes;
  root["takes_last"] = plan.takes_last;
  fmt::print("{}\n", cairn::json_text(root, 1));
}

}  // namespace ckpt_tool
