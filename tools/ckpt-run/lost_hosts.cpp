#include "lost_hosts.hpp"

#include <algorithm>
#include <utility>

#include "engine/health_keeper.hpp"
#include "inspect/survey.hpp"
#include "localize/facts.hpp"
#include "localize/words.hpp"
#include "store/posix/posix_store.hpp"

namespace ckpt_run {
namespace {

using cairn::Code;
using cairn::NodeId;

// The nodes of the placement on their hosts, which is all that a keeper of verdicts needs to know.
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

cairn::Status note_lost_hosts(const cairn::Config& config, const Placement& placement,
                              const std::vector<std::string>& lost, std::chrono::seconds today) {
  if (!config.localize.on) return {};
  const auto existing = cairn::PosixStore::open_existing(config.storage.global, config.job.name);
  if (!existing) return existing.error().code == Code::not_found ? cairn::Status{} : cairn::fail(existing.error());
  auto sealer = cairn::make_sealer(config.integrity.key_file, config.job.name);
  if (!sealer) return cairn::fail(sealer.error());
  const cairn::JobStores stores{{}, *existing, std::move(*sealer)};
  const auto survey = cairn::take_survey(stores);
  if (!survey) return cairn::fail(survey.error());
  if (survey->runs.empty()) return {};
  const auto store = cairn::PosixStore::open(config.storage.global, config.job.name);
  if (!store) return cairn::fail(store.error());

  const cairn::Topology topology = topology_of(placement);
  cairn::HealthKeeper keeper(*store, topology, survey->runs.front().incarnation,
                             stores.sealer_at(cairn::StoreId::global()), cairn::Log::silent());
  keeper.resume();
  cairn::localize::Setting setting{topology.hosts(), today};
  for (const HostRanks& host : placement.hosts) {
    if (std::ranges::find(lost, host.host) == lost.end()) continue;
    for (const std::uint32_t node : host.nodes) {
      cairn::localize::Verdict verdict;
      verdict.fault = cairn::localize::Fault::node_down;
      verdict.suspect.node.value = node;
      verdict.analyst = verdict.suspect.node;
      verdict.findings = {{fact_of(cairn::localize::ProbeFact::response_answers), 0}};
      keeper.put(verdict, unanswered_text(verdict.suspect.node, setting), today);
    }
  }
  return keeper.write(today);
}

}  // namespace ckpt_run
