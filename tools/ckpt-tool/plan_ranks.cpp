// ckpt-tool plan --ranks: whether the newest snapshot can be restored on so many ranks.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.hpp"
#include "config/config.hpp"
#include "inspection.hpp"
#include "other_ranks.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

using cairn::SnapshotView;
using cairn::Survey;

std::size_t ranks_of(const SnapshotView& view) { return view.layout.node_of_rank.size(); }

// "version 7 has no source for rank 2 (node 1 is lost)", newest first.
std::string refusals_of(const Survey& survey, const std::vector<SnapshotView>& passed_over) {
  std::vector<std::string> all;
  for (const SnapshotView& view : passed_over)
    all.push_back(fmt::format("version {} has {}", view.identity.version.value, plan_recovery(survey, view).why_not));
  return fmt::format("{}", fmt::join(all, "; "));
}

// "6 ranks from L1, 2 ranks from L2"
std::string sources_text(const cairn::Recovery& recovery) {
  std::map<cairn::LevelId, std::uint64_t> by_level;
  for (const cairn::Delivery& delivery : recovery.sources) ++by_level[delivery.level];
  std::vector<std::string> all;
  for (const auto& [level, ranks] : by_level)
    all.push_back(fmt::format("{} from {}", count_text(ranks, "rank"), level_text(level)));
  return fmt::format("{}", fmt::join(all, ", "));
}

cairn::Result<bool> is_elastic(const Target& target) {
  if (target.config.empty()) return true;
  const auto source = cairn::read_config_source(target.config);
  if (!source) return cairn::fail(source.error());
  const auto config = cairn::parse_config(*source);
  if (!config) return cairn::fail(config.error());
  return config->restart.elastic;
}

}  // namespace

cairn::Result<ExitCode> plan_ranks(const RanksRequest& request) {
  const auto elastic = is_elastic(request.target);
  if (!elastic) return cairn::fail(elastic.error());
  const auto opened = open_stores(request.target);
  if (!opened) return cairn::fail(opened.error());
  const auto survey = take_survey(opened->stores);
  if (!survey) return cairn::fail(survey.error());
  auto views = view_snapshots(*survey);
  std::erase_if(views, [&](const SnapshotView& view) { return !survey->may_restore(view.identity); });
  if (views.empty()) return cairn::fail(no_snapshots(*opened, survey->ignored));

  const auto newest =
      std::ranges::find_if(views, [&](const SnapshotView& view) { return plan_recovery(*survey, view).possible; });
  const std::vector<SnapshotView> passed_over(views.begin(), newest);
  if (!passed_over.empty()) fmt::print("not recoverable: {}\n", refusals_of(*survey, passed_over));
  if (newest == views.end()) return kDamage;
  const std::size_t wrote = ranks_of(*newest);
  const bool refused = wrote != request.ranks && !*elastic;
  fmt::print("version {} of {} {} be restored on {}: ", newest->identity.version.value, count_text(wrote, "rank"),
             refused ? "cannot" : "can", *request.ranks);
  if (refused) {
    fmt::print("[restart] elastic = off\n");
    return kDamage;
  }
  fmt::print("{}\n", sources_text(plan_recovery(*survey, *newest)));
  if (wrote == request.ranks) return kGood;
  Inspection inspection{*opened, *survey, *newest, {}, {}};
  collect_regions(inspection);
  fmt::print("\n{}", other_ranks_text(regions_on_ranks(inspection.regions)));
  for (const RegionGroup& group : inspection.regions) {
    if (!group.why_not.empty()) complain(fmt::format("{}: {}", ranks_text(group.ranks), group.why_not));
  }
  return kGood;
}

}  // namespace ckpt_tool
