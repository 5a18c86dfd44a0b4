#include "ended_run.hpp"

#include <utility>

#include "inspect/survey.hpp"
#include "store/posix/posix_store.hpp"

namespace ckpt_run {
namespace {

using cairn::Code;
using cairn::fail;
using cairn::NodeId;

cairn::Topology topology_of(const Placement& placement) {
  cairn::Topology topology;
  topology.nodes.resize(placement.nodes);
  topology.node_of_world.resize(placement.nodes);
  topology.host_of_world.resize(placement.nodes);
  for (std::uint32_t node = 0; node < placement.nodes; ++node) {
    topology.nodes[node].head = cairn::Peer{node};
    topology.node_of_world[node] = NodeId{node};
  }
  for (const HostRanks& host : placement.hosts)
    for (const std::uint32_t node : host.nodes) topology.host_of_world.at(node) = host.host;
  return topology;
}

}  // namespace

cairn::Result<std::optional<EndedRun>> EndedRun::find(const cairn::Config& config, const Placement& placement) {
  if (!config.localize.on) return std::nullopt;
  const auto existing = cairn::PosixStore::open_existing(config.storage.global, config.job.name);
  if (!existing && existing.error().code == Code::not_found) return std::nullopt;
  if (!existing) return fail(existing.error());
  auto sealer = cairn::make_sealer(config.integrity.key_file, config.job.name);
  if (!sealer) return fail(sealer.error());
  const cairn::JobStores stores{{}, *existing, std::move(*sealer)};
  const auto survey = cairn::take_survey(stores);
  if (!survey) return fail(survey.error());
  if (survey->runs.empty()) return std::nullopt;
  auto store = cairn::PosixStore::open(config.storage.global, config.job.name, {.readers = config.storage.access});
  if (!store) return fail(store.error());
  return EndedRun{std::move(*store), topology_of(placement), survey->runs.front().incarnation,
                  stores.sealer_at(cairn::StoreId::global())};
}

}  // namespace ckpt_run
