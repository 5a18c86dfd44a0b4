#include "repair/decision.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace cairn {

using Role = Member::Role;

Presence presence_of(const PoolVote& vote, std::uint32_t number, const ProcessId& process) {
  return {.number = number,
          .under_way = vote.under_way ? 1U : 0U,
          .restored = vote.restored,
          .gives_up = vote.gives_up ? 1U : 0U,
          .can_stay = vote.rollback.can_stay ? 1U : 0U,
          .have_caught_up = vote.rollback.have_caught_up ? 1U : 0U,
          .reason = vote.rollback.obstacle.weight,
          .process = process};
}

Decision decide(const PoolState& state, HeadMode mode, const std::vector<Presence>& present, std::set<NodeId> sick) {
  check(std::ranges::is_sorted(present, {}, &Presence::number));
  Decision decision;
  decision.sick = std::move(sick);
  bool have_caught_up = false;
  for (const Presence& one : present) {
    check(one.number < state.roster.size());
    decision.live.push_back(one.number);
    decision.processes.push_back(one.process);
    decision.under_way |= one.under_way != 0;
    decision.gives_up |= one.gives_up != 0;
    if (const Member& member = state.roster[one.number]; member.role == Role::rank && one.can_stay == 0)
      decision.cannot_stay.push_back(member.rank.value);
    have_caught_up |= one.have_caught_up != 0;
    if (one.reason > decision.best_reason) decision.gives_reason = one.number;
    decision.best_reason = std::max(decision.best_reason, one.reason);
    decision.restored = std::max(decision.restored, one.restored);
  }
  Roster before = state.roster;
  if (have_caught_up) end_catch_ups(before);
  decision.lost_in_catch_ups = lost_in_catch_ups(before, decision.live);
  decision.all_stay = decision.cannot_stay.empty() && !decision.lost_in_catch_ups;
  decision.repair = repair(before, decision.live, mode, decision.sick);
  if (!decision.all_stay) end_catch_ups(decision.repair.roster);
  return decision;
}

std::vector<std::uint32_t> helpers_after(const PoolState& state, const Decision& decision, std::uint32_t most) {
  if (!decision.all_stay) return {};
  return helpers_of(state.roster, decision.live, decision.repair.roster, most);
}

PoolState after(PoolState before, const Decision& decision) {
  check(decision.repair.unfilled.empty());
  PoolState state = std::move(before);
  state.repairs_without_effect = decision.live.size() == state.roster.size() ? state.repairs_without_effect + 1 : 0;
  state.roster = decision.repair.roster;
  state.under_way |= decision.under_way;
  state.gives_up |= decision.gives_up;
  state.repairs_without_progress = decision.restored > state.progress ? 0 : state.repairs_without_progress + 1;
  state.progress = std::max(state.progress, decision.restored);
  ++state.repairs;
  state.check_invariants();
  return state;
}

PoolVerdict verdict_of(const PoolState& before, HeadMode mode, const Decision& decision, std::uint32_t me) {
  return {.only_lost_roll_back = decision.all_stay,
          .gives_reason = !decision.lost_in_catch_ups && decision.best_reason != Decision::Weight::none &&
                          decision.gives_reason == me,
          .failures = failures_of(before, decision.live, mode)};
}

bool heeds_sick_nodes(const Config& config) {
  return config.localize.on && config.localize.act >= localize::Act::avoid && config.head.mode == HeadMode::rank;
}

}  // namespace cairn
