#include "repair/pool_member.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace cairn {
namespace {

using Role = Member::Role;

constexpr std::chrono::milliseconds kSpareNap{2};

}  // namespace

PoolMember::PoolMember(HostProcesses& host, const Config& config, const ProcessId& me, PoolLife life)
    : host_(host), config_(config), log_(config.log.level), process_(me), life_(std::move(life)) {
  begin_life();
}

void PoolMember::begin_life() {
  const PoolState& state = life_.state;
  neighbours_.clear();
  const std::string& host = state.nodes[me().node.value].host;
  for (std::uint32_t i = 0; i < state.roster.size(); ++i) {
    if (i == life_.me || state.nodes[state.roster[i].node.value].host != host) continue;
    neighbours_.push_back({i, life_.processes[i], name_of(state, state.roster[i])});
  }
  muster_.reset();
  if (!config_.recovery.straggler_limit) return;
  std::vector<Muster::Neighbour> expected;
  for (const Neighbour& one : neighbours_) expected.push_back({one.number, one.process, one.name});
  muster_ = std::make_unique<Muster>(host_, Muster::Channel{life_.pool, life_.team.alarm}, std::move(expected),
                                     *config_.recovery.straggler_limit, log_);
}

bool PoolMember::all_ranks(bool succeeded, const std::function<void()>& meanwhile) {
  Meanwhile look;
  if (muster_) muster_->join();
  if (muster_ || meanwhile) {
    look = [&]() -> Result<std::optional<int>> {
      if (muster_) muster_->look();
      if (meanwhile) meanwhile();
      return std::nullopt;
    };
  }
  const auto word = life_.team.ranks->agree(succeeded ? 1 : 0, look);
  // A rank that has died may have had work to do after its vote.
  return word && word->word == 1 && word->all_live;
}

// The death of another spare must not stop the job.
bool PoolMember::a_worker_has_died() const {
  return std::ranges::any_of(life_.pool->failed_members(),
                             [&](std::uint32_t number) { return life_.state.roster[number].role != Role::spare; });
}

void PoolMember::wait_as_spare(const std::function<bool()>& ends, const std::function<void()>& meanwhile) const {
  while (!life_.pool->is_revoked() && !a_worker_has_died() && !(ends && ends())) {
    life_.pool->let_news_come();
    if (meanwhile) meanwhile();
    std::this_thread::sleep_for(kSpareNap);
  }
}

Result<PoolVerdict> PoolMember::meet(PoolVote vote, PoolMeeting::Means means) {
  if (!vote.done) log_.debug("process {} joins the repair", process_.number);
  UnreportedDeaths unreported(host_, *life_.pool, neighbours_);
  if (muster_) muster_->join();
  means.while_waiting = [&]() -> Result<std::optional<int>> {
    if (auto status = unreported.look(); !status) return fail(status.error());
    if (muster_) muster_->look();
    return std::nullopt;
  };
  PoolMeeting meeting(config_, process_, std::move(vote), std::move(means));
  const auto over = meeting.is_over(life_);
  if (!over) return fail(over.error());
  if (*over) {
    life_.verdict = {.over = true};
    return life_.verdict;
  }
  auto next = meeting.repair(life_);
  if (!next) return fail(next.error());
  life_ = std::move(*next);
  begin_life();
  return life_.verdict;
}

}  // namespace cairn
