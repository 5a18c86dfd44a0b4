#include "visible_stores.hpp"

#include <memory>
#include <utility>

#include "store/names.hpp"
#include "store/posix/posix_store.hpp"

namespace ckpt_run {
namespace {

// A store that is not there has nothing of the job. None: it cannot be read.
std::optional<std::shared_ptr<const cairn::Store>> look_at(const std::string& root, const std::string& job) {
  auto store = cairn::PosixStore::open_existing(root, job);
  if (store) return std::move(*store);
  if (store.error().code == cairn::Code::not_found) return nullptr;
  return std::nullopt;
}

}  // namespace

std::optional<cairn::JobStores> visible_stores(const cairn::Config& config, const Placement& placement,
                                               const std::function<bool(std::string_view)>& is_here) {
  auto sealer = cairn::make_sealer(config.integrity.key_file, config.job.name);
  auto global = look_at(config.storage.global, config.job.name);
  if (!sealer || !global) return {};
  cairn::JobStores stores{{}, std::move(*global), std::move(*sealer)};
  for (const HostRanks& host : placement.hosts) {
    if (!is_here(host.host)) continue;
    for (const std::uint32_t node : host.nodes) {
      const std::string below =
          placement.simulated ? "/" + cairn::names::node_directory(cairn::NodeId{node}) : std::string();
      auto store = look_at(config.storage.local + below, config.job.name);
      if (!store) return {};
      if (*store) stores.nodes.push_back(std::move(*store));
    }
  }
  return stores;
}

}  // namespace ckpt_run
