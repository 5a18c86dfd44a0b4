#include "logged/journaled_rank.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "logged/obstacle_note.hpp"
#include "store/names.hpp"

namespace cairn::rollback {

JournaledRank::JournaledRank(Setting setting, Repairs& repairs)
    : setting_(std::move(setting)),
      repairs_(repairs),
      journal_(setting_.rank.value, setting_.replay.memory,
               repairs.only_lost_roll_back() ? Origin::replacement : Origin::first),
      choices_(setting_.rank, journal_, setting_.log) {}

void JournaledRank::joins(World world) {
  check(!world_);
  world_.emplace(std::move(world));
  deadlocks_.joins(world_->ranks);
  if (journal_.is_started()) open_spill();
}

void JournaledRank::end_world() {
  if (!world_) return;
  deadlocks_.leaves();
  catch_up_.reset();
  world_.reset();
}

// The copies of messages of dead ranks that were on this node go.
void JournaledRank::open_spill() {
  const std::uint64_t most = setting_.replay.spill;
  if (most == 0) return;
  (void)world_->local->reclaim(Store::Writers::of_this_host);
  journal_.spills_to(
      most, [store = world_->local, rank = setting_.rank] { return store->create(names::spill(rank), 0, {}); });
}

std::optional<Obstacle> JournaledRank::why_all_roll_back() const {
  if (auto obstacle = journal_.obstacle()) return Obstacle{std::move(*obstacle), Obstacle::Weight::known};
  if (replaces() || !journal_.is_started())
    return Obstacle{fmt::format("rank {} has not left restore()", setting_.rank.value), Obstacle::Weight::seen};
  return {};
}

void JournaledRank::obstruct(const std::string& what, Until until) {
  note_obstacle(journal_, setting_.log, setting_.rank, fmt::format("rank {} {}", setting_.rank.value, what), until);
}

void JournaledRank::note_stop_signal() {
  journal_.obstructs(fmt::format("rank {} has received the stop signal", setting_.rank.value), Until::end);
}

// Has no effect if this rank does not stay: then it is over with this session.
Status JournaledRank::rolls_back(const std::string& what) {
  const std::string text = fmt::format("rank {} {}", setting_.rank.value, what);
  journal_.obstructs(text, Until::next_snapshot);
  (void)repairs_.stays();
  return fail(Code::communication, text);
}

bool JournaledRank::stays_after(const Error& error) { return error.code == Code::communication && repairs_.stays(); }

LoggedRank::Patience JournaledRank::begin_patience(const std::string& call) {
  using Verdict = replay::LongWait::Verdict;
  const auto wait = std::make_shared<replay::LongWait>(journal_, deadlocks_, setting_.limit);
  return [wait, call]() -> std::optional<std::string> {
    const Verdict verdict = wait->look([] { return replay::DeadlockCheck::Needs{}; });
    if (verdict == Verdict::goes_on) return {};
    return wait->text(verdict, call);
  };
}

Status JournaledRank::wait_patiently(const std::function<bool()>& done, const std::string& call, const Wait& wait) {
  check(is_unchecked());
  const Patience patience = begin_patience(call);
  std::optional<std::string> hopeless;
  bool is_done = false;
  auto waited = wait([&] {
    is_done = done();
    if (!is_done) hopeless = patience();
    return is_done || hopeless;
  });
  if (!waited || is_done) return waited;
  return rolls_back(*hopeless);
}

// An exchange that only one side has made, perhaps since a replacement leaves out or repeats one, shifts all later
// messages. No checksum shows that.
Status JournaledRank::check_messages(const Wait& wait) {
  check(is_unchecked());
  const std::uint64_t since = *journal_.unchecked_since();
  std::uint64_t sum = journal_.balance(since);
  const auto reduction = world_->ranks.iallreduce({&sum, 1}, Reduce::sum);
  Result<bool> over = false;
  const auto done = [&] { return !(over = reduction->test()) || *over; };
  if (auto waited = wait_patiently(done, "snapshot()", wait); !waited) return waited;
  if (!over) return fail(over.error());
  if (sum == 0) {
    journal_.is_checked();
    return {};
  }
  const std::string text = fmt::format(
      "messages or communicators since snapshot() call {} do not match: a replacement has exchanged or made others "
      "than the dead rank, or a rank has received messages that are not logged",
      since);
  if (setting_.rank.value == 0) setting_.log.warning("{}", text);
  journal_.obstructs(text, Until::next_snapshot);
  return fail(Code::communication, text);
}

std::optional<Version> JournaledRank::answer_of(std::uint64_t call) const {
  const auto version = journal_.taken_at(call);
  if (!version) return {};
  return Version{*version};
}

void JournaledRank::enters(std::uint64_t call, const std::function<Version(LevelId)>& reached) {
  journal_.enters(call);
  look_whether_caught_up();
  repairs_.host().passes_safe_point();
  const bool survives_nodes = setting_.replay.survives == Config::Replay::Survives::node;
  Version safe{};
  for (const LevelId level : LevelSet::all())
    if (level > LevelId::local || !survives_nodes) safe = std::max(safe, reached(level));
  if (safe.value > 0) journal_.is_safe(safe.value);
  if constexpr (kChecksSlowly) journal_.check_invariants();
}

void JournaledRank::look_whether_caught_up() {
  if (!catch_up_ || catches_up()) return;
  const auto took = std::chrono::steady_clock::now() - catch_up_->began;
  setting_.log.info("rank {} has caught up at snapshot() call {}, after {:.3f} s", setting_.rank.value,
                    journal_.epoch(), std::chrono::duration<double>(took).count());
  catch_up_.reset();
}

LoggedRank::LogGrowth JournaledRank::note_log_growth() {
  const bool fills = journal_.note_growth();
  return {.fills = fills, .logged_millionths = journal_.logged_millionths()};
}

void JournaledRank::note_full_log(LevelId level) {
  if (setting_.rank.value == 0 && !std::exchange(log_has_filled_, true))
    setting_.log.info(
        "a message log is nearly full ([replay] memory): a snapshot is taken at L{} now, and whenever a log fills",
        static_cast<int>(level));
}

void JournaledRank::drops(const Versions& meant, const std::function<Version(LevelId)>& reached) {
  for (const LevelId level : kAllLevels) {
    const auto at = static_cast<std::size_t>(level);
    dropped_[at] = std::max(dropped_[at], meant[at]);
    if (reached(level) >= dropped_[at]) dropped_[at] = {};
  }
}

bool JournaledRank::is_dropped(LevelId level, Version meant, Version reached) const {
  const Version dropped = dropped_[static_cast<std::size_t>(level)];
  return dropped > meant && reached < dropped;
}

}  // namespace cairn::rollback
