#include "other_ranks.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "inspect/survey.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"

namespace ckpt_run {
namespace {

using cairn::NodeId;

// A store that is not there has nothing of the job. None: it cannot be read.
std::optional<std::shared_ptr<const cairn::Store>> look_at(const std::string& root, const std::string& job) {
  auto store = cairn::PosixStore::open_existing(root, job);
  if (store) return std::move(*store);
  if (store.error().code == cairn::Code::not_found) return nullptr;
  return std::nullopt;
}

// Those that a run of this placement sees, as far as they are visible here.
std::optional<cairn::JobStores> stores_of(const cairn::Config& config, const Placement& placement,
                                          const std::function<bool(std::string_view)>& is_here) {
  auto sealer = cairn::make_sealer(config.integrity.key_file, config.job.name);
  auto global = look_at(config.storage.global, config.job.name);
  if (!sealer || !global) return {};
  cairn::JobStores stores{{}, std::move(*global), std::move(*sealer)};
  for (const HostRanks& host : placement.hosts) {
    if (!is_here(host.host)) continue;
    for (const std::uint32_t node : host.nodes) {
      const std::string below = placement.simulated ? "/" + cairn::names::node_directory(NodeId{node}) : std::string();
      auto store = look_at(config.storage.local + below, config.job.name);
      if (!store) return {};
      if (*store) stores.nodes.push_back(std::move(*store));
    }
  }
  return stores;
}

}  // namespace

std::optional<SnapshotOfOtherRanks> snapshot_of_other_ranks(const cairn::Config& config, const Placement& placement,
                                                            const std::function<bool(std::string_view)>& is_here) {
  if (!config.restart.elastic || config.restart.mode == cairn::Config::Restart::Mode::fresh) return {};
  const auto stores = stores_of(config, placement, is_here);
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
