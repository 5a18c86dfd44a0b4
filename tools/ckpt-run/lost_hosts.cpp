#include "lost_hosts.hpp"

#include <algorithm>

#include "ended_run.hpp"
#include "engine/health_keeper.hpp"
#include "localize/facts.hpp"
#include "localize/words.hpp"

namespace ckpt_run {

cairn::Status note_lost_hosts(const cairn::Config& config, const Placement& placement,
                              const std::vector<std::string>& lost, std::chrono::seconds today) {
  const auto run = EndedRun::find(config, placement);
  if (!run) return cairn::fail(run.error());
  if (!*run) return {};
  const EndedRun& ended = **run;
  cairn::HealthKeeper keeper(ended.global, ended.topology, ended.life, ended.sealer, cairn::Log());
  keeper.resume();
  cairn::localize::Setting setting{ended.topology.hosts(), today};
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
