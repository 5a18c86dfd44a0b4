#include "repair/repair_log.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cairn {
namespace {

using Role = Member::Role;

void log_losses(const Log& log, const RepairFacts& facts) {
  const std::size_t dead = facts.before.roster.size() - facts.decision.live.size();
  const auto spares = std::ranges::count(facts.now.roster, Role::spare, &Member::role);
  const auto& dead_ranks = facts.failures.dead_ranks;
  std::string ranks;
  if (!dead_ranks.empty())
    ranks = fmt::format(" ({} {})", dead_ranks.size() == 1 ? "rank" : "ranks", fmt::join(dead_ranks, ", "));
  log.info("repair {}: {} {} died{}; {} spare{} left", facts.now.repairs, dead, dead == 1 ? "process" : "processes",
           ranks, spares, spares == 1 ? "" : "s");
}

// Where no process gives its own reason, or this one counts more.
void log_why_all_roll_back(const Log& log, const Config& config, const Decision& decision) {
  if (decision.lost_in_catch_ups) {
    log.info("all ranks roll back: two replacements of rank {} in a row died before they had caught up",
             decision.lost_in_catch_ups->value);
  } else if (!decision.all_stay && decision.best_reason == Decision::Weight::none &&
             config.recovery.rollback == Config::Recovery::Rollback::lost) {
    const bool one = decision.cannot_stay.size() == 1;
    log.info("all ranks roll back: {} {} cannot continue where {}", one ? "rank" : "ranks",
             fmt::join(decision.cannot_stay, ", "), one ? "it is" : "they are");
  }
}

void log_sick(const Log& log, const RepairFacts& facts) {
  for (std::size_t i = 0; i < facts.decision.live.size(); ++i) {
    const Member& was = facts.before.roster[facts.decision.live[i]];
    const Member& is = facts.now.roster[i];
    if (was.role != Role::spare || is.role != Role::rank || !facts.decision.sick.contains(is.node)) continue;
    const Seat& node = facts.now.nodes[is.node.value];
    log.warning("rank {} continues on node {} (host {}), which is sick: no spare is left on other nodes", is.rank.value,
                node.node, node.host);
  }
}

}  // namespace

void log_repair(const Log& log, const Config& config, const RepairFacts& facts) {
  log_losses(log, facts);
  log_why_all_roll_back(log, config, facts.decision);
  log_sick(log, facts);
}

Error no_spare_left(const PoolState& state, const Decision& decision) {
  const Member& first = decision.repair.unfilled.front();
  return Error{Code::unrecoverable,
               fmt::format("rank {} on node {} died, and no spare is left", first.rank.value,
                           state.nodes[first.node.value].node),
               "the job ends; ckpt-run restarts it, or start it again: it restores its newest snapshot"};
}

}  // namespace cairn
