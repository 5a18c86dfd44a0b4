#include "stay_job.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "stay_parts.hpp"
#include "support/thread_cluster.hpp"

namespace cairn::test {
namespace {

using Kind = Operation::Kind;

constexpr std::chrono::seconds kLimit{60};

Config config_of(const StaySetting& setting) {
  const std::string text = fmt::format(
      "[head]\nmode = {}\n[recovery]\nmode = spares\nspares = {}\nrollback = lost\n[log]\nlevel = error\n{}",
      setting.has_heads ? "rank" : "inline", setting.spares.size(), setting.settings);
  auto config = parse_config({.file = "job.ini", .text = text, .domains_text = {}, .environment = {}});
  if (!config) throw std::invalid_argument(config.error().text());
  return *config;
}

std::uint64_t snapshots_before(const std::vector<Operation>& program, std::uint64_t at) {
  const auto here = program.begin() + static_cast<std::ptrdiff_t>(at);
  return static_cast<std::uint64_t>(
      std::count_if(program.begin(), here, [](const Operation& one) { return one.kind == Kind::snapshot; }));
}

// Whether ranks receive from any rank before they restore.
bool receives_any_early(const Program& program) {
  return std::ranges::any_of(program, [](const auto& rank) {
    const auto found = std::ranges::find_if(
        rank, [](const Operation& one) { return one.kind == Kind::receive_any || one.kind == Kind::restore; });
    return found != rank.end() && found->kind == Kind::receive_any;
  });
}

}  // namespace

Roster StayJob::roster_of(const StaySetting& setting) {
  Roster roster;
  std::uint32_t rank = 0;
  for (std::uint32_t node = 0; node < setting.nodes; ++node) {
    for (std::uint32_t i = 0; i < setting.ranks_per_node; ++i)
      roster.push_back({.role = Member::Role::rank, .node = NodeId{node}, .rank = Rank{rank++}});
    if (setting.has_heads) roster.push_back({.role = Member::Role::head, .node = NodeId{node}, .rank = {}});
  }
  for (const std::uint32_t node : setting.spares)
    roster.push_back({.role = Member::Role::spare, .node = NodeId{node}, .rank = {}});
  return roster;
}

StayJob::StayJob(const Program& program, StaySetting setting)
    : program_(program), setting_(std::move(setting)), roster_(roster_of(setting_)) {
  for (std::uint32_t node = 0; node < setting_.nodes; ++node)
    stores_.push_back(std::make_shared<MemoryStore>(MemoryStore::kUnbounded, fmt::format("store of node {}", node)));
}

void StayJob::wrong(std::string what) {
  const std::lock_guard guard(mutex_);
  if (fault_.empty()) fault_ = std::move(what);
}

// A process that computes again what others may have seen must come to the same.
void StayJob::note_state(std::uint32_t rank, std::size_t at, std::uint64_t state) {
  const std::lock_guard guard(mutex_);
  if (states_.try_emplace({rank, at}, state).first->second != state && fault_.empty())
    fault_ = fmt::format("rank {} computes something else again at operation {}", rank, at);
}

void StayJob::refill(JobSession& session, StayCarrier& carrier) {
  constexpr std::int32_t kTag = 90;
  using AfterRestore = StaySetting::AfterRestore;
  if (setting_.after_restore == AfterRestore::nothing) return;
  if (session.impl().logged()->journal().began_later()) {
    const std::lock_guard guard(mutex_);
    diverged_ = true;
  }
  const auto ranks = static_cast<std::uint32_t>(program_.size());
  const std::uint32_t me = session.rank();
  const bool receives = setting_.after_restore == AfterRestore::exchange || !session.last_restore().restored;
  carrier.begin_send({Kind::send, (me + 1) % ranks, kTag, 1}, payload_at(first_cells(me), 0, 1));
  if (receives) carrier.begin_receive({Kind::receive, (me + ranks - 1) % ranks, kTag, 1});
  carrier.wait_all([](std::uint32_t, Bytes) {});
}

// All ranks make the same call, and get the same answer.
void StayJob::take_snapshot(JobSession& session, std::uint64_t number) {
  // A call with a level may count as two steps.
  const std::uint64_t kind = setting_.helpers > 1 ? number % 3 : (number + setting_.seed) % 5;
  if (kind == 1) (void)session.due();
  if (kind == 2) (void)session.safe_version(LevelId::local);
  const auto version = kind == 3 ? session.snapshot(LevelId::local) : session.snapshot();
  const std::lock_guard guard(mutex_);
  versions_[number][session.rank()] = version;
}

void StayJob::application(JobSession& session, StayCarrier& carrier, const std::function<void()>& has_restored) {
  const std::uint32_t rank = session.rank();
  const auto& program = program_[rank];
  StayCells cells = first_cells(rank);
  session.protect("cells", cells);
  if (setting_.helpers > 1) session.on_loss(part_splitter(cells), part_merger(cells));
  std::uint64_t& at = cells[0];
  const auto takes = [&](std::uint32_t from, Bytes payload) { take(cells, from, payload); };
  const auto adds = [&](std::uint32_t from, Bytes payload) { add(cells, from, payload); };
  while (at < program.size()) {
    const Operation& operation = program[at++];
    const auto payload = [&] { return payload_at(cells, at - 1, std::uint64_t{operation.words} * setting_.longer); };
    switch (operation.kind) {
      case Kind::isend: carrier.begin_send(operation, payload()); break;
      case Kind::ireceive: carrier.begin_receive(operation); break;
      case Kind::send:
        carrier.begin_send(operation, payload());
        carrier.wait_all(takes);
        break;
      case Kind::receive:
        carrier.begin_receive(operation);
        carrier.wait_all(takes);
        break;
      case Kind::receive_any:
        carrier.begin_receive_any(operation);
        carrier.wait_all(adds);
        break;
      case Kind::wait_all: carrier.wait_all(takes); break;
      case Kind::restore: {
        (void)session.restore();
        has_restored();
        refill(session, carrier);
        const std::lock_guard guard(mutex_);
        restored_.insert(rank);
        break;
      }
      case Kind::snapshot: take_snapshot(session, snapshots_before(program, at)); break;
    }
    if (session.impl().logged()->journal().is_started()) note_state(rank, at, cells[1]);
  }
  const std::lock_guard guard(mutex_);
  results_[rank] = cells[1];
}

StayJob::Outcome StayJob::run(const Deaths& deaths, const std::optional<Strike>& strike) {
  StayPool pool(roster_, setting_.has_heads ? HeadMode::rank : HeadMode::inline_, setting_.helpers);
  pool.on_trouble = [this] { network_.wake(); };
  pool.at_meeting = [this](bool all_stay, std::size_t lost_ranks) {
    network_.clear();
    const std::lock_guard guard(mutex_);
    // What a rank has got before restore() only its sender knows.
    if (lost_ranks > 1 && receives_any_early(program_)) may_roll_back_ = true;
    if (setting_.lost_node) stores_.at(*setting_.lost_node)->wipe();
    if (!all_stay) states_.clear();
    if (!all_stay) versions_.clear();
    restored_.clear();
  };
  std::vector<std::unique_ptr<StayProcess>> processes;
  const StayProcess::Job job{.config = config_of(setting_),
                             .pool = pool,
                             .network = network_,
                             .stores = stores_,
                             .global = std::make_shared<MemoryStore>(MemoryStore::kUnbounded, "global store"),
                             .seed = setting_.seed,
                             .compute_part = setting_.helpers > 1 ? part_computer(program_) : ComputePart{},
                             .on_death =
                                 [this] {
                                   const std::lock_guard guard(mutex_);
                                   may_roll_back_ = may_roll_back_ || restored_.size() < program_.size();
                                 },
                             .on_begin =
                                 [&](StayPool::Process process, std::uint64_t count) {
                                   if (strike && strike->when == process && strike->begins == count)
                                     processes[strike->dies]->strike();
                                 },
                             .on_stayed =
                                 [this](Rank rank) {
                                   const std::lock_guard guard(mutex_);
                                   restored_.insert(rank.value);
                                 }};
  for (std::uint32_t number = 0; number < roster_.size(); ++number) {
    const auto death = deaths.find(number);
    processes.push_back(
        std::make_unique<StayProcess>(job, number, death == deaths.end() ? CommFaultPlan::kNever : death->second));
  }
  run_cluster(
      static_cast<std::uint32_t>(roster_.size()),
      [&](Comm& member) {
        StayProcess& process = *processes[member.rank().value];
        process.run([&](JobSession& session, StayCarrier& carrier) {
          application(session, carrier, [&] { process.has_restored(); });
        });
      },
      kLimit);
  return outcome_of(pool, processes);
}

StayJob::Outcome StayJob::outcome_of(const StayPool& pool, const std::vector<std::unique_ptr<StayProcess>>& processes) {
  Outcome outcome;
  outcome.repairs = pool.repairs();
  outcome.rollbacks = pool.rollbacks();
  outcome.lost_in_catch_ups = pool.has_lost_in_catch_ups();
  std::string why;
  for (const auto& process : processes) {
    if (process->error()) wrong(*process->error());
    why += process->obstacle().empty() ? "" : "; " + process->obstacle();
    outcome.operations.push_back(process->operations());
    outcome.restored_at.push_back(process->restored_at());
    outcome.ended_at.push_back(process->ended_at());
    outcome.recomputed += process->recomputed();
    outcome.deaths += process->has_died() ? 1 : 0;
  }
  if (outcome.rollbacks > 0 && !may_roll_back_ && !outcome.lost_in_catch_ups && !setting_.may_roll_back)
    wrong("all ranks have rolled back, and only the lost ones should" + why);
  for (const auto& [number, answers] : versions_)
    for (const auto& [rank, version] : answers)
      if (version != answers.begin()->second)
        wrong(fmt::format("rank {} gets another answer from snapshot {}", rank, number));
  outcome.results = results_;
  outcome.diverged = diverged_;
  outcome.fault = fault_;
  return outcome;
}

}  // namespace cairn::test
