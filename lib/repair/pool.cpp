#include "repair/pool.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mpi/mpi_comm.hpp"
#include "mpi/process.hpp"
#include "mpi/ulfm.hpp"
#include "repair/respawn.hpp"
#include "session/shared_setup.hpp"
#include "tap/intercepted.hpp"
#include "tap/world.hpp"

namespace cairn {
namespace {

using Role = Member::Role;

constexpr std::chrono::milliseconds kSpareNap{2};
constexpr std::uint32_t kMostFailedGrowths = 3;
constexpr std::chrono::milliseconds kBetweenLooksForDeaths{500};
constexpr std::chrono::seconds kLongestUnknownDeath{5};
constexpr std::chrono::milliseconds kLongestAgreementAfterAlarm{100};

// What each live process reports at a meeting; sent as raw bytes.
struct Presence {
  std::uint32_t number = 0;  // in the roster
  std::uint32_t under_way = 0;
  std::uint32_t restored = 0;  // version of the snapshot that it has restored
  std::uint32_t gives_up = 0;
  std::uint32_t can_stay = 0;
  std::uint32_t have_caught_up = 0;
  rollback::Obstacle::Weight reason = rollback::Obstacle::Weight::none;
  ProcessId process;
};

// Whether MPI, as it runs here, can do what the configuration asks for.
Status usable(const Config& config) {
  if (auto status = ulfm::usable(); !status) return status;
  if (config.recovery.rollback != Config::Recovery::Rollback::lost || tap::is_intercepted()) return {};
  return fail(Code::config, "[recovery] rollback = lost: this program's MPI calls are not intercepted",
              "link cairn-tap before MPI, as pkg-config --libs cairn does, or set rollback = all");
}

// Which process is on which node, as if every one computed.
Result<Topology> everyone(Comm& world, const Config& config) {
  auto hosts = share_hosts(world, host_name());
  if (!hosts) return fail(hosts.error());
  return make_topology(*hosts, config.topology.node_size, HeadMode::inline_);
}

}  // namespace

Result<std::unique_ptr<Pool>> Pool::start(MPI_Comm world, const ConfigSource& source) {
  auto parsed = parse_config(source);
  if (!parsed) return fail(parsed.error());
  const Config& config = *parsed;
  std::unique_ptr<Pool> pool(new Pool(source, config));
  auto comm = MpiComm::duplicate(world);
  if (!comm) return fail(comm.error());
  if (auto status = agree(**comm, usable(config), "world rank"); !status) return fail(status.error());
  auto launcher = Launcher::share(**comm, {});
  if (!launcher) return fail(launcher.error());
  pool->launcher_ = *std::move(launcher);
  pool->settle_head_mode(**comm);
  if (config.recovery.mode == Config::Recovery::Mode::spares && config.recovery.spares == 0) {
    return fail(Code::config, "[recovery] mode = spares, but the job has no spares",
                "start the job with ckpt-run --spares, or set [recovery] spares and start as many ranks more");
  }
  if (auto enough = check_helpers(config); !enough) return fail(enough.error());
  auto topology = everyone(**comm, config);
  if (!topology) return fail(topology.error());
  for (const Node& node : topology->nodes) {
    pool->nodes_.push_back({topology->host_of_world[node.head.value], node.name, false});
  }
  auto roster = first_roster(*topology, pool->head_mode(), config.recovery.spares);
  if (!roster) return fail(roster.error());
  pool->roster_ = std::move(*roster);
  pool->me_ = (*comm)->rank().value;
  auto own = own_duplicate(world);
  if (!own) return fail(own.error());
  pool->pool_ = MpiUlfmComm::take(*own);
  if (auto status = make_team(*pool->pool_, pool->roster_, {}, pool->team_); !status) return fail(status.error());
  pool->lifeline_ = std::make_shared<Lifeline>(*own, pool->world());
  Proposal start;
  if (auto status = pool->gather(*pool->pool_, {}, start); !status) return fail(status.error());
  const ProcessId& first = start.processes.front();
  pool->mark_ = fmt::format("{}={}-{}-{}{}", respawn::kPoolVariable, pool->nodes_.front().host, first.number,
                            first.started, tap::is_world_replaced() ? respawn::kReplacesWorld : "");
  pool->meet_neighbours(start.processes);
  pool->log_role();
  return pool;
}

// Every process computes it from the same facts.
void Pool::settle_head_mode(const Comm& world) {
  if (config_.head.mode) return;
  config_.head.mode = automatic_head_mode(launcher_.started.has_value(), false, config_.recovery.mode);
  const std::uint32_t workers = world.size() - std::min(world.size(), config_.recovery.spares);
  if (world.rank().value == 0) log_.info("{}", automatic_head_text(head_mode(), workers, launcher_.by_a_rank));
}

bool Pool::is_of_one_start() const {
  return std::ranges::all_of(roster_, [&](const Member& member) { return member.start == me().start; });
}

std::vector<Seat> Pool::seats() const { return seats_of(roster_); }

std::vector<Seat> Pool::seats_of(const Roster& roster) const {
  std::vector<Seat> seats;
  for (const std::uint32_t number : world_of(roster)) {
    seats.push_back(nodes_[roster[number].node.value]);
    seats.back().head = roster[number].role == Role::head;
  }
  return seats;
}

bool Pool::all_ranks(bool succeeded, const std::function<void()>& meanwhile) {
  const int mine = succeeded ? 1 : 0;
  if (muster_) muster_->join();
  const auto look = [&]() -> Result<std::optional<int>> {
    if (muster_) muster_->look();
    if (meanwhile) meanwhile();
    return std::nullopt;
  };
  const auto word = muster_ || meanwhile ? team_.ranks->agree(mine, look) : team_.ranks->agree(mine);
  // A rank that has died may have had work to do after its vote.
  return word && word->word == 1 && word->all_live;
}

// The death of another spare must not stop the job.
bool Pool::a_worker_has_died() const {
  const auto failed = pool_->failed_members();
  return std::ranges::any_of(failed, [&](std::uint32_t number) { return roster_[number].role != Role::spare; });
}

void Pool::wait_as_spare(const std::function<void()>& meanwhile) {
  while (!pool_->is_revoked() && !a_worker_has_died() && !lifeline_->misses_one()) {
    pool_->let_news_come();
    meanwhile();
    std::this_thread::sleep_for(kSpareNap);
  }
  lifeline_->cut();
}

Result<Pool::Verdict> Pool::meet(const Vote& vote) {
  if (!vote.done) log_.debug("process {} joins the repair", this_process().number);
  const auto over = is_over(vote.done);
  if (!over) return fail(over.error());
  if (*over) {
    end_strays();
    verdict_ = {.over = true};
  } else if (auto status = rebuild(vote); !status) {
    return fail(status.error());
  }
  return verdict_;
}

// No limit here, because some ranks may still compute. If processes die meanwhile, the agreement of Open MPI 5.0 does
// not always reach all members: the last one missed it in 6 of 125 losses of several nodes. The members that it reached
// raise the alarm. The agreement then gets more time, because MPI may crash after an abandoned agreement.
Result<bool> Pool::is_over(bool done) const {
  using Clock = std::chrono::steady_clock;
  constexpr int kRepair = 1;
  UnknownDeaths unknown;
  std::optional<Clock::time_point> alarmed;
  if (muster_) muster_->join();
  if (!done) pool_->wait_for_news();
  const auto word = pool_->agree(done ? 0 : kRepair, [&]() -> Result<std::optional<int>> {
    if (!alarmed && team_.alarm->is_revoked()) alarmed = Clock::now();
    if (alarmed && Clock::now() - *alarmed > kLongestAgreementAfterAlarm) return kRepair;
    if (auto status = look_for_unknown_deaths(unknown); !status) return fail(status.error());
    if (muster_) muster_->look();
    return std::nullopt;
  });
  if (!word) return fail(word.error());
  if (word->word == kRepair) team_.alarm->revoke();
  return word->word != kRepair;
}

// mpirun reports deaths to MPI. If it misses one, the meeting would wait for the dead process and never end. So this
// function looks in /proc for the processes of this host.
Status Pool::look_for_unknown_deaths(UnknownDeaths& unknown) const {
  const auto now = std::chrono::steady_clock::now();
  if (now < unknown.next_look) return {};
  unknown.next_look = now + kBetweenLooksForDeaths;
  const auto failed = pool_->failed_members();
  for (std::uint32_t i = 0; i < neighbours_.size(); ++i) {
    if (!neighbours_[i] || std::ranges::find(failed, i) != failed.end() || !is_gone(*neighbours_[i])) {
      unknown.since.erase(i);
      continue;
    }
    const auto since = unknown.since.try_emplace(i, now).first->second;
    if (now - since < kLongestUnknownDeath) continue;
    return fail(Code::communication,
                fmt::format("process {} ({}) is gone, but MPI has not reported its death after {} s: the job ends",
                            neighbours_[i]->number, name_of(roster_[i]), kLongestUnknownDeath.count()));
  }
  return {};
}

Status Pool::rebuild(const Vote& vote) {
  Watchdog watchdog(MpiUlfmComm::raw(pool_), config_.recovery.limit, "shrinking the pool", [this] { end_newcomers(); });
  while (true) {
    watchdog.step("shrinking the pool");
    auto live = pool_->shrink();
    if (!live) return fail(live.error());
    pool_ = *live;
    auto settled = settle(vote, watchdog);
    if (!settled) return fail(settled.error());
    if (*settled) return {};
    pool_->revoke();
  }
}

// One try with the processes that are alive now. False: another process died meanwhile.
Result<bool> Pool::settle(const Vote& vote, Watchdog& watchdog) {
  watchdog.step("agreeing on the survivors");
  Proposal proposal;
  Status status = gather(*pool_, vote, proposal);
  if (status) status = grow_if_wanted(vote, watchdog, proposal);
  if (failed_growths_ > kMostFailedGrowths) return fail(status.error());
  watchdog.step("agreeing on a new world");
  if (status && proposal.repair.unfilled.empty())
    status = make_team(*pool_, proposal.repair.roster, helpers_after(proposal), proposal.team);
  // If this process has failed here, the other processes must not wait for it in the calls above.
  if (!status) pool_->revoke();
  const auto word = pool_->agree(status ? 1 : 0);
  if (word && word->word == 1) {
    if (!proposal.repair.unfilled.empty()) return fail(no_spare_left(proposal));
    adopt(std::move(proposal));
    return true;
  }
  return false;
}

// The live processes, by their numbers in the roster, which only a successful repair changes.
Status Pool::gather(UlfmComm& live, const Vote& vote, Proposal& proposal) const {
  const Presence mine{.number = me_,
                      .under_way = vote.under_way ? 1U : 0U,
                      .restored = restored_,
                      .gives_up = gives_up_ ? 1U : 0U,
                      .can_stay = vote.rollback.can_stay ? 1U : 0U,
                      .have_caught_up = vote.rollback.have_caught_up ? 1U : 0U,
                      .reason = vote.rollback.obstacle.weight,
                      .process = this_process()};
  std::vector<Presence> all(live.size());
  const auto told = live.gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  if (!told) return told;
  for (const Presence& present : all) {
    proposal.live.push_back(present.number);
    proposal.processes.push_back(present.process);
    proposal.under_way |= present.under_way != 0;
    proposal.gives_up |= present.gives_up != 0;
    if (const Member& member = roster_[present.number]; member.role == Role::rank && present.can_stay == 0)
      proposal.cannot_stay.push_back(member.rank.value);
    proposal.have_caught_up |= present.have_caught_up != 0;
    if (present.reason > proposal.best_reason) proposal.gives_reason = present.number;
    proposal.best_reason = std::max(proposal.best_reason, present.reason);
    proposal.restored = std::max(proposal.restored, present.restored);
  }
  if (auto status = share_sick(live, vote.sick, proposal); !status) return status;
  Roster before = roster_;
  if (proposal.have_caught_up) end_catch_ups(before);
  proposal.lost_in_catch_ups = lost_in_catch_ups(before, proposal.live);
  proposal.all_stay = proposal.cannot_stay.empty() && !proposal.lost_in_catch_ups;
  proposal.repair = repair(before, proposal.live, head_mode(), proposal.sick);
  if (!proposal.all_stay) end_catch_ups(proposal.repair.roster);
  return {};
}

// The same on all members.
std::vector<std::uint32_t> Pool::helpers_after(const Proposal& proposal) const {
  if (!proposal.all_stay) return {};
  return helpers_of(roster_, proposal.live, proposal.repair.roster, config_.replay.helpers);
}

Status Pool::make_team(UlfmComm& pool, const Roster& roster, const std::vector<std::uint32_t>& helpers, Team& team) {
  const std::uint32_t me = pool.rank();
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
  return status;
}

void Pool::adopt(Proposal proposal) {
  const Roster before = std::exchange(roster_, std::move(proposal.repair.roster));
  const auto number = std::ranges::find(proposal.live, me_) - proposal.live.begin();
  failures_ = failures_of(before, proposal.live);
  repairs_without_effect_ = proposal.live.size() == before.size() ? repairs_without_effect_ + 1 : 0;
  verdict_ = {.only_lost_roll_back = proposal.all_stay,
              .gives_reason =
                  !proposal.lost_in_catch_ups && proposal.best_reason != Weight::none && proposal.gives_reason == me_};
  me_ = static_cast<std::uint32_t>(number);
  team_ = proposal.team;
  under_way_ |= proposal.under_way;
  gives_up_ |= proposal.gives_up;
  repairs_without_progress_ = proposal.restored > progress_ ? 0 : repairs_without_progress_ + 1;
  progress_ = restored_ = std::max(progress_, proposal.restored);
  ++repairs_;
  lifeline_ = std::make_shared<Lifeline>(MpiUlfmComm::raw(pool_), world());
  meet_neighbours(proposal.processes);
  end_strays();
  if (me_ == 0) {
    log_repair(before, proposal);
    log_why_all_roll_back(proposal);
    log_sick(before, proposal);
  }
  log_role();
}

// Those of this host can be seen in /proc.
void Pool::meet_neighbours(const std::vector<ProcessId>& processes) {
  neighbours_.assign(roster_.size(), std::nullopt);
  std::vector<ProcessId> others;
  std::vector<Muster::Neighbour> expected;
  std::vector<ProcessId> workers;
  const std::string& host = nodes_[me().node.value].host;
  for (std::size_t i = 0; i < roster_.size(); ++i) {
    if (i == me_ || nodes_[roster_[i].node.value].host != host) continue;
    neighbours_[i] = processes[i];
    others.push_back(processes[i]);
    if (roster_[i].role != Role::spare) workers.push_back(processes[i]);
    expected.push_back({static_cast<std::uint32_t>(i), processes[i], name_of(roster_[i])});
  }
  lifeline_->expect(std::move(workers));
  muster_.reset();
  if (config_.recovery.straggler_limit) {
    muster_ = std::make_unique<Muster>(Muster::Channel{pool_, team_.alarm}, std::move(expected),
                                       *config_.recovery.straggler_limit, log_);
  }
  guard_.reset();
  if (!config_.recovery.hang_timeout) return;
  guard_ = std::make_unique<HangGuard>(std::move(others), *config_.recovery.hang_timeout, log_);
}

std::string Pool::name_of(const Member& member) const {
  std::string role = "a spare";
  if (member.role == Role::rank) role = fmt::format("rank {}", member.rank.value);
  if (member.role == Role::head) role = "head";
  return fmt::format("{} on node {}", role, nodes_[member.node.value].node);
}

std::string Pool::my_name() const { return fmt::format("process {} ({})", this_process().number, name_of(me())); }

void Pool::log_role() const {
  log_.debug("process {} is {} after {} repairs", this_process().number, name_of(me()), repairs_);
}

FailureTopology Pool::failures_of(const Roster& before, const std::vector<std::uint32_t>& live) const {
  FailureTopology failures;
  std::vector<bool> lives(before.size());
  for (const std::uint32_t number : live) lives[number] = true;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!lives[i] && before[i].role == Role::rank) failures.dead_ranks.push_back(before[i].rank.value);
  }
  std::ranges::sort(failures.dead_ranks);
  // Node numbers are those of the last session.
  const Topology last = make_topology(seats_of(before), head_mode());
  for (std::uint32_t node = 0; node < last.node_count(); ++node) {
    const bool is_seen = std::ranges::any_of(
        live, [&](std::uint32_t number) { return nodes_[before[number].node.value].node == last.nodes[node].name; });
    if (!is_seen) failures.lost_nodes.push_back(node);
  }
  return failures;
}

void Pool::log_repair(const Roster& before, const Proposal& proposal) const {
  const std::size_t dead = before.size() - proposal.live.size();
  const auto spares = std::ranges::count(roster_, Role::spare, &Member::role);
  std::string ranks;
  if (!failures_.dead_ranks.empty())
    ranks = fmt::format(" ({} {})", failures_.dead_ranks.size() == 1 ? "rank" : "ranks",
                        fmt::join(failures_.dead_ranks, ", "));
  log_.info("repair {}: {} {} died{}; {} spare{} left", repairs_, dead, dead == 1 ? "process" : "processes", ranks,
            spares, spares == 1 ? "" : "s");
}

// Where no process gives its own reason, or this one counts more.
void Pool::log_why_all_roll_back(const Proposal& proposal) const {
  if (proposal.lost_in_catch_ups) {
    log_.info("all ranks roll back: two replacements of rank {} in a row died before they had caught up",
              proposal.lost_in_catch_ups->value);
  } else if (!proposal.all_stay && proposal.best_reason == Weight::none &&
             config_.recovery.rollback == Config::Recovery::Rollback::lost) {
    const bool one = proposal.cannot_stay.size() == 1;
    log_.info("all ranks roll back: {} {} cannot continue where {}", one ? "rank" : "ranks",
              fmt::join(proposal.cannot_stay, ", "), one ? "it is" : "they are");
  }
}

Error Pool::no_spare_left(const Proposal& proposal) const {
  const Member& first = proposal.repair.unfilled.front();
  return Error{
      Code::unrecoverable,
      fmt::format("rank {} on node {} died, and no spare is left", first.rank.value, nodes_[first.node.value].node),
      "the job ends; ckpt-run restarts it, or start it again: it restores its newest snapshot"};
}

}  // namespace cairn
