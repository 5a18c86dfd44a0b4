#include "stay_pool.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace cairn::test {

using Role = Member::Role;

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{5};

}  // namespace

StayPool::StayPool(Roster first, HeadMode mode, std::uint32_t helpers)
    : mode_(mode), most_helpers_(helpers), processes_(first.size()) {
  for (const Member& member : first) {
    while (state_.nodes.size() <= member.node.value)
      state_.nodes.push_back({"host", fmt::format("node{}", state_.nodes.size()), false});
  }
  state_.roster = std::move(first);
  std::iota(processes_.begin(), processes_.end(), 0U);
  begin_life();
}

void StayPool::begin_life() {
  world_ = world_of(state_.roster);
  comms_ = std::make_shared<ThreadWorld>(static_cast<std::uint32_t>(world_.size()));
  cut_ = false;
  agreements_.clear();
  agreed_.clear();
}

std::uint32_t StayPool::number_of(Process process) const {
  return static_cast<std::uint32_t>(std::ranges::find(processes_, process) - processes_.begin());
}

StayPool::Place StayPool::place(Process process) const {
  const std::lock_guard guard(mutex_);
  const std::uint32_t me = number_of(process);
  return {.member = state_.roster[me],
          .peer = Peer{static_cast<std::uint32_t>(std::ranges::find(world_, me) - world_.begin())},
          .world = comms_,
          .seats = seats_of(state_, state_.roster),
          .dead_ranks = dead_ranks_,
          .repairs = state_.repairs,
          .all_stay = all_stay_,
          .under_way = state_.under_way};
}

void StayPool::cut() {
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(cut_, true)) return;
    comms_->kill();
    if (team_.world) team_.world->kill();
    changed_.notify_all();
  }
  on_trouble();
}

bool StayPool::is_troubled() const {
  const std::lock_guard guard(mutex_);
  return has_trouble();
}

bool StayPool::has_trouble() const {
  return cut_ || std::ranges::any_of(world_, [&](auto number) { return dying_.contains(processes_[number]); });
}

bool StayPool::is_dying(Process process) const {
  const std::lock_guard guard(mutex_);
  return dying_.contains(process);
}

std::optional<StayPool::Team> StayPool::helpers(Process process) const {
  const std::lock_guard guard(mutex_);
  const auto at = std::ranges::find(team_.processes, process);
  if (at == team_.processes.end()) return {};
  Team team = team_;
  team.me = Peer{static_cast<std::uint32_t>(at - team_.processes.begin())};
  return team;
}

void StayPool::dies(Process process) {
  {
    const std::lock_guard guard(mutex_);
    dying_.insert(process);
    const std::uint32_t number = number_of(process);
    const auto at = std::ranges::find(world_, number);
    if (at != world_.end()) comms_->kill(Peer{static_cast<std::uint32_t>(at - world_.begin())});
    const auto helper = std::ranges::find(team_.processes, process);
    if (helper != team_.processes.end())
      team_.world->kill(Peer{static_cast<std::uint32_t>(helper - team_.processes.begin())});
    changed_.notify_all();
  }
  on_trouble();
}

void StayPool::has_ended(Process process) {
  const std::lock_guard guard(mutex_);
  dead_.insert(process);
  settle_agreements();
  settle_meeting();
  changed_.notify_all();
}

bool StayPool::all_ranks(Process process, bool ok, const std::function<void()>& meanwhile) {
  std::unique_lock guard(mutex_);
  const std::size_t at = agreed_[process]++;
  if (agreements_.size() <= at) agreements_.resize(at + 1);
  agreements_[at].votes[process] = ok;
  settle_agreements();
  wait_until([&] { return agreements_[at].result.has_value(); }, meanwhile, guard);
  return *agreements_[at].result;
}

void StayPool::wait_until(const std::function<bool()>& done, const std::function<void()>& meanwhile,
                          std::unique_lock<std::mutex>& guard) {
  while (!done()) {
    if (!meanwhile) {
      changed_.wait(guard);
      continue;
    }
    guard.unlock();
    meanwhile();
    guard.lock();
    // By the system clock, as in MemoryStore.
    if (!done()) changed_.wait_until(guard, std::chrono::system_clock::now() + kBetweenLooks);
  }
}

void StayPool::settle_agreements() {
  for (Agreement& agreement : agreements_) {
    if (agreement.result) continue;
    bool all = true;
    bool ok = true;
    for (std::uint32_t number = 0; number < state_.roster.size(); ++number) {
      if (state_.roster[number].role != Role::rank) continue;
      const auto vote = agreement.votes.find(processes_[number]);
      all = all && (is_dead(number) || vote != agreement.votes.end());
      ok = ok && !is_dead(number) && vote != agreement.votes.end() && vote->second;
    }
    if (all) agreement.result = ok;
  }
  changed_.notify_all();
}

StayPool::Outcome StayPool::meet(Process process, const PoolVote& vote) {
  std::unique_lock guard(mutex_);
  const std::uint64_t meeting = meetings_;
  votes_[process] = vote;
  settle_meeting();
  changed_.wait(guard, [&] { return meetings_ != meeting; });
  return over_ ? Outcome::over : Outcome::repaired;
}

void StayPool::settle_meeting() {
  std::vector<std::uint32_t> live;
  for (std::uint32_t number = 0; number < state_.roster.size(); ++number)
    if (!is_dead(number)) live.push_back(number);
  const auto is_here = [&](std::uint32_t number) { return votes_.contains(processes_[number]); };
  if (!std::ranges::all_of(live, is_here)) return;
  if (live.empty()) return;
  std::vector<Presence> present;
  std::vector<Process> processes;
  for (const std::uint32_t number : live) {
    const PoolVote& vote = votes_.at(processes_[number]);
    over_ = over_ || vote.done;
    present.push_back(presence_of(vote, number, {}));
    processes.push_back(processes_[number]);
  }
  votes_.clear();
  ++meetings_;
  changed_.notify_all();
  if (over_) return;
  const Decision decision = decide(state_, mode_, present);
  all_stay_ = decision.all_stay;
  lost_in_catch_ups_ = lost_in_catch_ups_ || decision.lost_in_catch_ups.has_value();
  dead_ranks_ = verdict_of(state_, mode_, decision, 0).failures.dead_ranks;
  team_ = {};
  for (const std::uint32_t number : helpers_after(state_, decision, most_helpers_))
    team_.processes.push_back(processes[number]);
  if (!team_.processes.empty())
    team_.world = std::make_shared<ThreadWorld>(static_cast<std::uint32_t>(team_.processes.size()));
  state_ = after(state_, decision);
  processes_ = std::move(processes);
  if (!all_stay_) ++rollbacks_;
  begin_life();
  at_meeting(all_stay_, dead_ranks_.size());
}

void StayPool::wait_as_spare(const std::function<void()>& meanwhile) {
  {
    std::unique_lock guard(mutex_);
    wait_until([this] { return has_trouble(); }, meanwhile, guard);
  }
  cut();
}

bool StayPool::has_lost_in_catch_ups() const {
  const std::lock_guard guard(mutex_);
  return lost_in_catch_ups_;
}

std::uint32_t StayPool::rollbacks() const {
  const std::lock_guard guard(mutex_);
  return rollbacks_;
}

std::uint32_t StayPool::repairs() const {
  const std::lock_guard guard(mutex_);
  return state_.repairs;
}

}  // namespace cairn::test
