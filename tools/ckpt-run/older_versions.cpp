#include "older_versions.hpp"

#include <algorithm>

#include "inspect/survey.hpp"
#include "visible_stores.hpp"

namespace ckpt_run {

OlderVersions older_versions(const cairn::Config& config, const Placement& placement,
                             const std::function<bool(std::string_view)>& is_here, const cairn::Identity& restored) {
  OlderVersions older;
  const auto stores = visible_stores(config, placement, is_here);
  if (!stores) return older;
  const auto survey = cairn::take_survey(*stores);
  if (!survey) return older;
  older.all_seen = std::ranges::all_of(placement.hosts, is_here, &HostRanks::host);
  for (const cairn::SnapshotView& view : cairn::view_snapshots(*survey)) {
    if (!survey->may_restore(view.identity) || !plan_recovery(*survey, view).possible) continue;
    if (view.identity > restored) return {};
    const bool fits = config.restart.elastic || view.layout.node_of_rank.size() == placement.application;
    if (view.identity < restored && fits) older.versions.push_back(view.identity.version.value);
  }
  return older;
}

}  // namespace ckpt_run
