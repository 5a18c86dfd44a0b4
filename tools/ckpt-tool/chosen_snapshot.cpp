#include <algorithm>
#include <charconv>
#include <system_error>

#include <fmt/format.h>

#include "base/plain_text.hpp"
#include "commands.hpp"

namespace ckpt_tool {
namespace {

using cairn::Code;
using cairn::SnapshotView;

// What makes newer snapshots, or files of them that cannot be read, no choice.
void tell_passed_over(const cairn::Survey& survey, const cairn::Identity& chosen) {
  for (const cairn::Finding& finding : survey.findings)
    if (finding.snapshot.version > chosen.version) complain(finding_text(finding));
  for (const SnapshotView& view : view_snapshots(survey)) {
    if (view.identity > chosen)
      complain(fmt::format("version {} is passed over: {}", view.identity.version.value,
                           plan_recovery(survey, view).why_not));
  }
}

}  // namespace

cairn::Result<SnapshotView> find_snapshot(const OpenStores& opened, const cairn::Survey& survey,
                                          const std::string& version) {
  const auto snapshots = view_snapshots(survey);
  if (snapshots.empty()) return cairn::fail(no_snapshots(opened, survey.ignored));
  if (version == "newest") {
    const auto whole =
        std::ranges::find_if(snapshots, [&](const SnapshotView& view) { return plan_recovery(survey, view).possible; });
    if (whole == snapshots.end()) return snapshots.front();
    tell_passed_over(survey, whole->identity);
    return *whole;
  }
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
  if (error != std::errc() || end != version.data() + version.size()) {
    const auto labeled =
        std::ranges::find(snapshots, version, [](const SnapshotView& view) { return view.notes.label; });
    if (labeled != snapshots.end()) return *labeled;
    return cairn::fail(
        Code::invalid_argument,
        fmt::format("{} is no version, and no snapshot has this label", cairn::escaped_for_terminal(version)),
        "give a number or a label, as ckpt-tool list shows them, or newest");
  }
  const auto found =
      std::ranges::find_if(snapshots, [&](const SnapshotView& view) { return view.identity.version.value == number; });
  if (found == snapshots.end()) return cairn::fail(no_such_version(opened, number, survey));
  return *found;
}

}  // namespace ckpt_tool
