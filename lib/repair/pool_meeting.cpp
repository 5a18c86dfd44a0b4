#include "repair/pool_meeting.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "base/check.hpp"
#include "repair/growth.hpp"
#include "repair/repair_log.hpp"
#include "repair/sick_seats.hpp"

namespace cairn {
namespace {

using Role = Member::Role;

constexpr std::chrono::milliseconds kLongestAgreementAfterAlarm{100};

// What each member gives, of the same number on all of them.
template <class T>
Result<std::vector<T>> all_of(UlfmComm& pool, std::span<const T> mine) {
  std::vector<T> all(mine.size() * pool.size());
  if (auto told = pool.gather(std::as_bytes(mine), std::as_writable_bytes(std::span(all))); !told)
    return fail(told.error());
  return all;
}

Result<Team> make_team(UlfmComm& pool, const Roster& roster, const std::vector<std::uint32_t>& helpers) {
  const std::uint32_t me = pool.rank();
  Team team;
  const auto split = [&pool, me](UlfmComm::Ptr& made, const std::vector<std::uint32_t>& members, bool wanted) {
    const auto at = std::ranges::find(members, me);
    auto part = pool.split(wanted && at != members.end(), static_cast<std::uint32_t>(at - members.begin()));
    if (!part) return Status(fail(part.error()));
    made = std::move(*part);
    return Status();
  };
  const auto works = world_of(roster);
  std::vector<std::uint32_t> everyone(roster.size());
  std::iota(everyone.begin(), everyone.end(), 0U);
  Status status = split(team.world, works, true);
  if (status) status = split(team.ranks, works, roster[me].role == Role::rank);
  if (status && !helpers.empty()) status = split(team.helpers, helpers, true);
  if (status) status = split(team.alarm, everyone, true);
  if (!status) return fail(status.error());
  return team;
}

}  // namespace

Result<PoolLife> first_life(UlfmComm::Ptr pool, PoolState state, const ProcessId& me) {
  auto team = make_team(*pool, state.roster, {});
  if (!team) return fail(team.error());
  auto processes = all_of(*pool, std::span(&me, 1));
  if (!processes) return fail(processes.error());
  const std::uint32_t number = pool->rank();
  return PoolLife{std::move(pool), std::move(state), number, std::move(*team), std::move(*processes), {}};
}

PoolMeeting::PoolMeeting(const Config& config, const ProcessId& me, PoolVote vote, Means means)
    : config_(config), me_(me), vote_(std::move(vote)), means_(std::move(means)), log_(config.log.level) {}

void PoolMeeting::begin_step(const char* name) const {
  if (means_.begin_step) means_.begin_step(name);
}

// If processes die meanwhile, the agreement of Open MPI 5.0 does not always reach all members: the last one missed it
// in 6 of 125 losses of several nodes. The members that it reached raise the alarm. The agreement then gets more time,
// because MPI may crash after an abandoned agreement.
Result<bool> PoolMeeting::is_over(const PoolLife& life) const {
  using Clock = std::chrono::steady_clock;
  constexpr int kRepair = 1;
  std::optional<Clock::time_point> alarmed;
  if (!vote_.done) life.pool->wait_for_news();
  const auto word = life.pool->agree(vote_.done ? 0 : kRepair, [&]() -> Result<std::optional<int>> {
    if (!alarmed && life.team.alarm->is_revoked()) alarmed = Clock::now();
    if (alarmed && Clock::now() - *alarmed > kLongestAgreementAfterAlarm) return kRepair;
    if (means_.while_waiting) return means_.while_waiting();
    return std::nullopt;
  });
  if (!word) return fail(word.error());
  if (word->word == kRepair) life.team.alarm->revoke();
  return word->word != kRepair;
}

Result<PoolLife> PoolMeeting::repair(PoolLife life) {
  while (true) {
    begin_step("shrinking the pool");
    auto live = life.pool->shrink();
    if (!live) return fail(live.error());
    life.pool = std::move(*live);
    const auto settled = settle(life);
    if (!settled) return fail(settled.error());
    if (*settled) return life;
    life.pool->revoke();
  }
}

Result<PoolLife> PoolMeeting::join(PoolLife life) {
  begin_step("joining the job");
  const auto settled = settle(life);
  if (!settled) return fail(settled.error());
  if (*settled) return life;
  life.pool->revoke();
  return repair(std::move(life));
}

// One try with the processes that are alive now. False: another process died meanwhile.
Result<bool> PoolMeeting::settle(PoolLife& life) const {
  begin_step("agreeing on the survivors");
  const auto decision = decide_and_grow(life);
  if (life.state.failed_growths > kMostFailedGrowths) return fail(decision.error());
  begin_step("agreeing on a new world");
  Result<Team> team;
  if (!decision) {
    team = fail(decision.error());
  } else if (decision->repair.unfilled.empty()) {
    team = make_team(*life.pool, decision->repair.roster, helpers_after(life.state, *decision, config_.replay.helpers));
  }
  // If this process has failed here, the other processes must not wait for it in the calls above.
  if (!team) life.pool->revoke();
  const auto word = life.pool->agree(team ? 1 : 0);
  if (!word || word->word != 1) return false;
  if (!decision->repair.unfilled.empty()) return fail(no_spare_left(life.state, *decision));
  adopt(life, *decision, std::move(*team));
  return true;
}

// The state stays that of the last repair until this one succeeds, but for newcomers and closed hosts.
Result<Decision> PoolMeeting::decide_and_grow(PoolLife& life) const {
  auto decision = if_all_have_one(*life.pool, gather(life));
  while (decision) {
    auto nodes = nodes_to_grow(life.state, *decision, config_.recovery);
    if (nodes.empty()) break;
    begin_step("starting new processes");
    const auto started = grow(life.pool, life.state, *decision, std::move(nodes), log_);
    if (!started) return fail(started.error());
    if (!*started) break;
    check(static_cast<bool>(means_.news));
    const auto told = life.pool->broadcast(means_.news(life.state));
    decision = if_all_have_one(*life.pool, told ? gather(life) : fail(told.error()));
  }
  return decision;
}

// A death may strike the gathering on some members only. Members that start new processes make agreements for that, so
// either all members start them, or none does. Otherwise their agreements would meet other ones of those that cannot.
Result<Decision> PoolMeeting::if_all_have_one(UlfmComm& pool, Result<Decision> mine) const {
  if (!may_grow(config_.recovery)) return mine;
  if (!mine) pool.revoke();
  const auto word = pool.agree(mine ? 1 : 0);
  if (!word) return fail(word.error());
  if (mine && word->word != 1) return fail(Code::communication, "a process died while the others met");
  return mine;
}

Result<Decision> PoolMeeting::gather(const PoolLife& life) const {
  const Presence mine = presence_of(vote_, life.me, me_);
  const auto present = all_of(*life.pool, std::span(&mine, 1));
  if (!present) return fail(present.error());
  auto sick = share_sick(life);
  if (!sick) return fail(sick.error());
  return decide(life.state, config_.head.mode.value(), *present, std::move(*sick));
}

Result<std::set<NodeId>> PoolMeeting::share_sick(const PoolLife& life) const {
  std::set<NodeId> sick;
  if (!heeds_sick_nodes(config_)) return sick;
  const auto mine = sick_bits(vote_.sick, life.state.nodes);
  const auto all = all_of(*life.pool, std::span(std::as_const(mine)));
  if (!all) return fail(all.error());
  for (std::size_t from = 0; from < all->size(); from += mine.size())
    sick.merge(nodes_of_bits(std::span(*all).subspan(from, mine.size())));
  return sick;
}

void PoolMeeting::adopt(PoolLife& life, const Decision& decision, Team team) const {
  const PoolState before = life.state;
  life.verdict = verdict_of(before, config_.head.mode.value(), decision, life.me);
  life.state = after(before, decision);
  life.me = static_cast<std::uint32_t>(std::ranges::find(decision.live, life.me) - decision.live.begin());
  life.team = std::move(team);
  life.processes = decision.processes;
  if (life.me == 0) log_repair(log_, config_, {before, decision, life.state, life.verdict.failures});
}

}  // namespace cairn
