// delete and prune: which snapshots go is decided in lib/inspect/removal.
#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "commands.hpp"
#include "inspect/removal.hpp"
#include "locked_stores.hpp"
#include "removal_text.hpp"

namespace ckpt_tool {
namespace {

using cairn::Code;
using cairn::fail;
using cairn::Finding;
using cairn::RemovalPlan;
using cairn::Result;
using cairn::Status;
using cairn::Survey;

// The caller's version does not exist, or cannot be judged.
Status check_chosen(const RemovalRequest& request, const OpenStores& opened, const Survey& survey,
                    const RemovalPlan& plan) {
  if (!plan.spared.empty()) {
    const Finding& finding = plan.spared.front();
    return fail(Code::invalid_argument, fmt::format("version {} stays, since its files cannot be judged: {}",
                                                    finding.snapshot.version.value, finding_text(finding)));
  }
  if (!plan.pinned.empty()) {
    const std::uint32_t version = plan.pinned.front().version.value;
    return fail(Code::invalid_argument, fmt::format("version {} is pinned", version),
                fmt::format("ckpt-tool unpin {0} removes the pin; --force removes version {0} nevertheless", version));
  }
  for (const std::uint32_t version : request.versions) {
    const auto is_it = [&](const cairn::Removal& removal) { return removal.snapshot.version.value == version; };
    if (std::ranges::none_of(plan.removals, is_it)) return fail(no_such_version(opened, version, survey));
  }
  return {};
}

// A mark or a record that cannot be judged says which snapshots a restart uses.
Status check_records(const Survey& survey) {
  for (const Finding& finding : survey.findings) {
    if (finding.snapshot.version.value != 0 || !is_unknown(finding.state)) continue;
    return fail(Code::invalid_argument,
                fmt::format("it is not known which snapshots a restart uses: {}", finding_text(finding)));
  }
  return {};
}

Status check_last(const RemovalRequest& request, const OpenStores& opened, const RemovalPlan& plan) {
  if (!plan.takes_last || request.force) return {};
  return fail(Code::invalid_argument,
              fmt::format("job {} would have no snapshot left that a restart can use", opened.job),
              "add --force to remove it nevertheless");
}

using Planned = std::function<Result<RemovalPlan>(const OpenStores&, const Survey&)>;

struct Prepared {
  RemovalPlan plan;
  bool all_nodes = false;
};

Result<Prepared> prepare(const RemovalRequest& request, const OpenStores& opened, const Planned& make_plan) {
  const auto survey = take_survey(opened.stores);
  if (!survey) return fail(survey.error());
  auto plan = make_plan(opened, *survey);
  if (!plan) return fail(plan.error());
  if (auto status = check_last(request, opened, *plan); !status) return fail(status.error());
  return Prepared{std::move(*plan), sees_all_nodes(*survey)};
}

// What is prepared without locks may be out of date. But a directory where nothing goes is not even locked: it may not
// be a store.
Result<Prepared> carry_out(const RemovalRequest& request, const OpenStores& opened, const Planned& make_plan) {
  const auto locked = lock_stores(opened);
  if (!locked) return fail(locked.error());
  auto prepared = prepare(request, opened, make_plan);
  if (!prepared) return prepared;
  if (!prepared->all_nodes) {
    if (auto status = check_no_heads(request.target, opened); !status) return fail(status.error());
  }
  const auto report = [&](const cairn::Removal& removal) {
    if (!request.json) fmt::print("{}\n", removal_text(removal, true));
  };
  if (auto status = remove_snapshots(prepared->plan, locked->stores, report); !status)
    return fail(status.error().in("not all was removed"));
  return prepared;
}

Result<ExitCode> remove(const RemovalRequest& request, const Planned& make_plan) {
  const auto opened = open_stores(request.target);
  if (!opened) return fail(opened.error());
  if (opened->empty()) return fail(opened->nothing("snapshots"));
  auto prepared = prepare(request, *opened, make_plan);
  if (prepared && request.yes && !prepared->plan.removals.empty()) prepared = carry_out(request, *opened, make_plan);
  if (!prepared) return fail(prepared.error());
  (request.json ? print_removals_json : print_removals)(request, *opened, prepared->plan, prepared->all_nodes);
  return prepared->plan.spared.empty() ? kGood : kDamage;
}

}  // namespace

Result<ExitCode> delete_versions(const RemovalRequest& request) {
  return remove(request, [&](const OpenStores& opened, const Survey& survey) -> Result<RemovalPlan> {
    std::set<cairn::Version> versions;
    for (const std::uint32_t version : request.versions) versions.insert(cairn::Version{version});
    auto plan = plan_deletion(opened.stores, survey, versions, request.force ? cairn::Pinned::go : cairn::Pinned::stay);
    if (!plan) return plan;
    if (auto status = check_chosen(request, opened, survey, *plan); !status) return fail(status.error());
    return plan;
  });
}

Result<ExitCode> prune(const RemovalRequest& request) {
  return remove(request, [&](const OpenStores& opened, const Survey& survey) -> Result<RemovalPlan> {
    if (auto status = check_records(survey); !status) return fail(status.error());
    return plan_pruning(opened.stores, survey, request.keep);
  });
}

}  // namespace ckpt_tool
