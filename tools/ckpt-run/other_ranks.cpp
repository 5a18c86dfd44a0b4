#include "other_ranks.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "inspect/survey.hpp"
#include "visible_stores.hpp"

namespace ckpt_run {
std::optional<SnapshotOfOtherRanks> snapshot_of_other_ranks(const cairn::Config& config, const Placement& placement,
                                                            const std::function<bool(std::string_view)>& is_here) {
  if (!config.restart.elastic || config.restart.mode == cairn::Config::Restart::Mode::fresh) return {};
  const auto stores = visible_stores(config, placement, is_here);
  if (!stores) return {};
  const auto survey = cairn::take_survey(*stores);
  if (!survey || (!survey->runs.empty() && survey->runs.front().finished)) return {};
  const auto views = cairn::view_snapshots(*survey);
  const auto newest = std::ranges::find_if(views, [&](const cairn::SnapshotView& view) {
    return survey->may_restore(view.identity) && plan_recovery(*survey, view).possible;
  });
  if (newest == views.end()) return {};
  const auto ranks = static_cast<std::uint32_t>(newest->layout.node_of_rank.size());
  if (ranks == placement.application) return {};
  const bool all_here = std::ranges::all_of(placement.hosts, is_here, &HostRanks::host);
  return SnapshotOfOtherRanks{newest->identity.version.value, ranks, placement.application, !all_here};
}

std::string text_of(const SnapshotOfOtherRanks& snapshot) {
  return fmt::format("version {} of {} ranks{} is restored on {}", snapshot.version, snapshot.ranks,
                     snapshot.may_have_successor ? ", or a newer one," : "", snapshot.now);
}

}  // namespace ckpt_run
