#include "meeting_job.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cairn::test {
namespace {

using Role = Member::Role;

constexpr std::chrono::milliseconds kNap{1};

std::vector<std::int32_t> numbers_of(const std::vector<ProcessId>& processes) {
  std::vector<std::int32_t> numbers;
  for (const ProcessId& process : processes) numbers.push_back(process.number);
  return numbers;
}

}  // namespace

Config MeetingJob::with_spares(std::uint32_t spares) {
  Config config;
  config.head.mode = HeadMode::rank;
  config.recovery.mode = Config::Recovery::Mode::spares;
  config.recovery.spares = spares;
  config.log.level = LogLevel::error;
  return config;
}

Config MeetingJob::with_newcomers() {
  Config config = with_spares(0);
  config.recovery.mode = Config::Recovery::Mode::respawn;
  return config;
}

MeetingJob::MeetingJob(Plan plan) : plan_(std::move(plan)), job_(plan_.seed) {
  plan_.config.head.mode = plan_.mode;
  const auto everyone = make_topology(plan_.hosts, plan_.nodes, HeadMode::inline_);
  for (const Node& node : everyone->nodes)
    first_.nodes.push_back({everyone->host_of_world[node.head.value], node.name, false});
  first_.roster = first_roster(*everyone, plan_.mode, plan_.config.recovery.spares).value();
  for (const auto& [process, operation] : plan_.deaths) job_.plan_death(process, operation);
  for (const Process process : plan_.hidden) job_.hide_death_of(process);
  if (plan_.full_host) job_.refuse_starts_on(*plan_.full_host);
  if (plan_.loses_agreements) job_.lose_agreements();
}

MeetingJob::Outcome MeetingJob::run() {
  job_.run(static_cast<std::uint32_t>(first_.roster.size()),
           [this](Process me, UlfmComm::Ptr comm) { live(me, std::move(comm)); });
  if (outcome_.trouble.empty()) outcome_.trouble = job_.trouble();
  for (Process process = 0; process < job_.processes(); ++process) {
    outcome_.operations[process] = job_.operations(process);
    const auto ending = endings_.find(process);
    if (ending == endings_.end()) outcome_.dead.insert(process);
    if (ending != endings_.end()) outcome_.endings.insert(ending->second);
  }
  return outcome_;
}

void MeetingJob::live(Process me, UlfmComm::Ptr comm) {
  const PoolMeeting::Means means{.while_waiting = {}, .begin_step = {}, .news = [](const PoolState& state) {
                                   ByteWriter out;
                                   encode(state, out);
                                   return out.take();
                                 }};
  ThreadProcesses host(job_);
  auto life = begin(me, std::move(comm), means);
  if (!life) return ends(me, std::to_string(static_cast<int>(life.error().code)));
  if (life->state.repairs > 0) note(me, *life);
  PoolMember member(host, plan_.config, ThreadProcesses::id_of(me), std::move(*life));
  while (true) {
    if (plan_.stragglers.contains(me)) job_.block(me);
    if (plan_.late.contains(me)) wait_for_others();
    PoolVote vote{.done = work(member),
                  .under_way = member.me().role == Role::rank,
                  .restored = member.life().state.repairs == 0 ? 7U : 0U};
    vote.rollback.can_stay = !plan_.obstructed.contains(me);
    if (!vote.rollback.can_stay) vote.rollback.obstacle = {"it is obstructed", rollback::Obstacle::Weight::known};
    if (me == 0) vote.sick.nodes = plan_.sick;
    comes(member.life().state.repairs);
    const auto verdict = member.meet(vote, means);
    if (!verdict) return ends(me, std::to_string(static_cast<int>(verdict.error().code)));
    if (verdict->over) return ends(me, "the job is over");
    note(me, member.life());
  }
}

Result<PoolLife> MeetingJob::begin(Process me, UlfmComm::Ptr comm, const PoolMeeting::Means& means) {
  const ProcessId id = ThreadProcesses::id_of(me);
  if (comm) {
    auto life = first_life(std::move(comm), first_, id);
    job_.count_operations(me);
    return life;
  }
  job_.count_operations(me);
  PoolLife life;
  life.pool = job_.join(me);
  const auto news = life.pool->broadcast({});
  if (!news) {
    job_.kill(me);
    life.pool->let_news_come();
  }
  ByteReader reader(*news);
  life.state = decode_pool_state(reader).value();
  life.me = static_cast<std::uint32_t>(life.state.roster.size()) - (life.pool->size() - life.pool->rank());
  return PoolMeeting(plan_.config, id, {}, means).join(std::move(life));
}

// What a process does until it comes to a meeting. Whether all application ranks have finished.
bool MeetingJob::work(PoolMember& member) const {
  const PoolLife& life = member.life();
  const Role role = member.me().role;
  const auto is_struck = [&] {
    life.pool->let_news_come();
    return life.pool->is_revoked() || !life.team.world->failed_members().empty();
  };
  bool finished = false;
  if (role == Role::spare) {
    member.wait_as_spare({}, {});
  } else if (const bool whole = has_whole_world(life); role == Role::head) {
    while (whole && !is_struck()) std::this_thread::sleep_for(kNap);
  } else {
    finished = member.all_ranks(whole && !is_struck());
    if (finished) (void)member.all_ranks(true);
  }
  life.pool->revoke();
  if (life.team.world) life.team.world->revoke();
  return finished;
}

// Each member of the world says who it is.
bool MeetingJob::has_whole_world(const PoolLife& life) const {
  const auto works = world_of(life.state.roster);
  std::vector<std::uint32_t> found(life.team.world->size());
  const auto told =
      life.team.world->gather(std::as_bytes(std::span(&life.me, 1)), std::as_writable_bytes(std::span(found)));
  return told && found == works;
}

void MeetingJob::comes(std::uint32_t repairs) {
  auto dead = job_.dead();
  const std::scoped_lock lock(mutex_);
  dead_before_.try_emplace(repairs + 1, std::move(dead));
}

void MeetingJob::wait_for_others() {
  const auto somebody_has_come = [&] {
    const std::scoped_lock lock(mutex_);
    return !dead_before_.empty();
  };
  while (!somebody_has_come()) std::this_thread::sleep_for(kNap);
}

void MeetingJob::note(Process me, const PoolLife& life) {
  ByteWriter state;
  encode(life.state, state);
  Result result{state.take(), numbers_of(life.processes), life.verdict.only_lost_roll_back};
  const std::uint32_t repair = life.state.repairs;
  const std::scoped_lock lock(mutex_);
  if (life.processes[life.me] != ThreadProcesses::id_of(me)) wrong(fmt::format("process {} has another's seat", me));
  std::set<std::uint32_t> ranks;
  for (const Member& member : life.state.roster) {
    if (member.role == Role::rank && !ranks.insert(member.rank.value).second)
      wrong(fmt::format("rank {} is seated twice", member.rank.value));
  }
  if (ranks.size() != static_cast<std::size_t>(std::ranges::count(first_.roster, Role::rank, &Member::role)))
    wrong("a rank has no seat");
  for (const std::int32_t process : result.processes) {
    if (dead_before_[repair].contains(static_cast<Process>(process)))
      wrong(fmt::format("process {} is dead, and has a seat after repair {}", process, repair));
  }
  if (life.verdict.gives_reason) ++outcome_.reasons[repair];
  outcome_.lost[repair] = life.verdict.only_lost_roll_back;
  outcome_.state = life.state;
  const auto& first = results_.try_emplace(repair, result).first->second;
  if (first != result) {
    wrong(fmt::format("after repair {}, process {} has processes {}, another one {}{}", repair, me,
                      fmt::join(result.processes, " "), fmt::join(first.processes, " "),
                      first.state == result.state ? "" : ", and the state differs"));
  }
}

void MeetingJob::ends(Process me, const std::string& how) {
  const std::scoped_lock lock(mutex_);
  endings_[me] = how;
}

void MeetingJob::wrong(const std::string& what) {
  if (outcome_.trouble.empty()) outcome_.trouble = what;
}

}  // namespace cairn::test
