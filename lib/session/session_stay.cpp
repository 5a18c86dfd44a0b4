// A rank's part in a repair after which only the lost ranks roll back. Survivors keep their state, and join the
// repaired world inside the call that the failure has struck.
#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "replay/exchange.hpp"
#include "replay/standing.hpp"
#include "session/obstacle.hpp"
#include "session/session_impl.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

using replay::Standing;

std::uint64_t size_of(const std::map<std::uint32_t, Buffer>& messages) {
  std::uint64_t size = 0;
  for (const auto& [from, bytes] : messages) size += bytes.size();
  return size;
}

}  // namespace

bool SessionImpl::stays_after(const Error& error) {
  return error.code == Code::communication && application_.journal && hooks_.stays && hooks_.stays();
}

std::optional<std::string> SessionImpl::why_all_roll_back() const {
  const Application& app = application_;
  if (!app.journal) return "[recovery] rollback = all";
  if (auto obstacle = app.journal->obstacle()) return obstacle;
  if (!app.journal->is_started()) return fmt::format("rank {} has not left restore()", app.rank.value);
  if (app.stop) return fmt::format("rank {} has received the stop signal", app.rank.value);
  return {};
}

void SessionImpl::obstruct(const std::string& what, replay::Journal::Until until) {
  if (!application_.journal) return;
  note_obstacle(*application_.journal, setting_.log, application_.rank,
                fmt::format("rank {} {}", application_.rank.value, what), until);
}

// Has no effect if this rank does not stay: then it is over with this session.
Status SessionImpl::rolls_back(const std::string& what) {
  const std::string text = fmt::format("rank {} {}", application_.rank.value, what);
  application_.journal->obstructs(text, replay::Journal::Until::next_snapshot);
  (void)(hooks_.stays && hooks_.stays());
  return fail(Code::communication, text);
}

// All ranks come to such a call. A replacement may never do so, if it has exchanged other messages than the dead rank.
Status SessionImpl::wait_until(const std::function<bool()>& done, const std::string& call, HeadLink::WokenBy woken_by) {
  if (!has_unchecked_messages()) {
    const auto waited = link().wait_until(done, {.call = call, .woken_by = woken_by});
    return waited ? Status{} : fail(waited.error());
  }
  using Verdict = replay::LongWait::Verdict;
  replay::LongWait wait = begin_wait();
  Verdict verdict = Verdict::goes_on;
  bool is_done = false;
  const auto is_over = [&] {
    is_done = done();
    if (!is_done) verdict = wait.look([] { return replay::DeadlockCheck::Needs{}; });
    return is_done || verdict != Verdict::goes_on;
  };
  const auto waited = link().wait_until(is_over, {.call = call, .woken_by = woken_by});
  if (!waited) return fail(waited.error());
  return is_done ? Status{} : rolls_back(wait.text(verdict, call));
}

// Whether the newest snapshot for this level was under way in a failure after which this rank has stayed: it may never
// get there.
bool SessionImpl::is_dropped(LevelId level) const {
  const auto at = static_cast<std::size_t>(level);
  const Version dropped = application_.dropped[at];
  return dropped > application_.meant[at] && link().reached(level) < dropped;
}

void SessionImpl::disconnect() {
  if (!connection_) return;
  for (const LevelId level : kAllLevels) {
    const auto at = static_cast<std::size_t>(level);
    for (auto* versions : {&application_.meant, &application_.dropped})
      if (link().reached(level) >= (*versions)[at]) (*versions)[at] = {};
  }
  link().wake_head();
  application_.deadlocks.leaves();
  connection_.reset();
}

Status SessionImpl::reconnect(const Environment& environment) {
  auto connection = connect(environment, setting_.config, setting_.log);
  if (!connection) return fail(connection.error());
  connection_ = std::move(*connection);
  application_.incarnation = connection_->life.incarnation;
  if (application_.journal) application_.deadlocks.joins(ranks());
  if (application_.journal && application_.journal->is_started()) open_spill();
  return {};
}

// The next snapshot() call was made by some rank before a failure.
bool SessionImpl::is_past_call() const {
  const std::uint64_t next = application_.calls + (application_.decided ? 0 : 1);
  return application_.journal && next <= application_.journal->past();
}

// What a call up to past() answers.
std::optional<Version> SessionImpl::past_answer() const {
  const auto version = application_.journal->taken_at(application_.calls);
  if (!version) return {};
  return Version{*version};
}

// The same for due(), which has begun the call.
LevelSet SessionImpl::levels_of_past_call() const {
  LevelSet levels;
  if (past_answer()) levels.add(LevelId::local);
  return levels;
}

void SessionImpl::look_whether_caught_up() {
  auto& catch_up = connection_->catch_up;
  if (!catch_up || catches_up()) return;
  const auto took = std::chrono::steady_clock::now() - catch_up->began;
  setting_.log.info("rank {} has caught up at snapshot() call {}, after {:.3f} s", application_.rank.value,
                    application_.calls, std::chrono::duration<double>(took).count());
  catch_up.reset();
}

void SessionImpl::enter_safe_point() {
  if (!application_.journal) return;
  application_.journal->enters(application_.calls);
  look_whether_caught_up();
  if (hooks_.at_safe_point) hooks_.at_safe_point();
  cut_journal();
}

// What the newest safe snapshot makes void.
void SessionImpl::cut_journal() {
  const bool survives_nodes = setting_.config.replay.survives == Config::Replay::Survives::node;
  Version safe{};
  for (const LevelId level : LevelSet::all())
    if (level > LevelId::local || !survives_nodes) safe = std::max(safe, link().reached(level));
  if (safe.value == 0) return;
  application_.journal->is_safe(safe.value);
}

Status SessionImpl::settle_prologue() {
  Application& app = application_;
  const std::byte mine{app.replaces ? std::uint8_t{1} : std::uint8_t{0}};
  const auto told = ranks().allgather({&mine, 1});
  if (!told) return fail(told.error());
  std::map<std::uint32_t, Buffer> out;
  for (std::uint32_t rank = 0; rank < told->size() && !app.replaces; ++rank)
    if ((*told)[rank].front() != std::byte{0}) out[rank] = app.journal->prologue_for(rank);
  const auto shipped = replay::exchange(ranks(), out);
  if (!shipped) return fail(shipped.error());
  return app.replaces ? app.journal->replays_prologue(*shipped, static_cast<std::uint32_t>(told->size())) : Status{};
}

// Of a snapshot that is taken because a log will soon be full.
LevelId SessionImpl::level_that_cuts_the_log() {
  const LevelId lowest = level_that_cuts_logs(setting_.config, connection_->life.usable);
  if (application_.rank.value == 0 && !std::exchange(application_.log_has_filled, true))
    setting_.log.info(
        "a message log is nearly full ([replay] memory): a snapshot is taken at L{} now, and whenever a log fills",
        static_cast<int>(lowest));
  return lowest;
}

// The copies of messages of dead ranks that were on this node go.
void SessionImpl::open_spill() {
  Application& app = application_;
  const std::uint64_t most = setting_.config.replay.spill;
  if (most == 0) return;
  const std::shared_ptr<Store> store = local_store();
  (void)store->reclaim(Store::Writers::of_this_host);
  app.journal->spills_to(most, [store, rank = app.rank] { return store->create(names::spill(rank), 0, {}); });
}

// A replacement gets what survivors ship to it. All other ranks that have restored begin a new log.
Status SessionImpl::start_journal(std::uint64_t epoch, const Status& completed) {
  Application& app = application_;
  if (hooks_.at_restore) hooks_.at_restore();
  if (!app.replaces) {
    auto choices = replay::exchange(ranks(), app.journal->prologue().choices_by_peer());
    if (!choices) return fail(choices.error());
    app.journal->prologue().keep_choices(std::move(*choices));
  }
  const auto started = app.journal->start(epoch);
  open_spill();
  if (!app.replaces) return record_choices();
  Status settled;
  if (const auto again = settle_messages(epoch); !again) settled = fail(again.error());
  if (settled && !started) settled = fail(started.error());
  if (settled && !completed) settled = completed;
  app.replaces = false;
  if (!settled && settled.error().code != Code::communication)
    app.journal->obstructs(settled.error().text(), replay::Journal::Until::next_snapshot);
  if (!hooks_.settled || !hooks_.settled(settled.has_value()))
    return fail(Code::communication, settled ? "another rank cannot continue" : settled.error().text());
  connection_->catch_up = Connection::CatchUp{connection_->trace.span_beside("catch up")};
  recompute_with_helpers();
  look_whether_caught_up();
  return {};
}

Result<std::vector<replay::Repeated>> SessionImpl::restore_lost() {
  Application& app = application_;
  std::uint64_t epoch = app.calls;
  const auto start = setting_.clock();
  const auto accepted = settle_offer(
      [&](const Offer& offer) -> RestoreResult {
        epoch = 0;
        if (offer.fresh) return {};
        const auto shard = open_own(offer);
        if (!shard) return refused(shard.error());
        epoch = shard->header().safe_point;
        return {};
      },
      RestoreRequest{}, Restores::replacements);
  if (!accepted) return fail(accepted.error());
  app.report.version = accepted->fresh ? 0 : accepted->snapshot.version.value;
  auto again = settle_messages(epoch);
  // As the replacement does: all ranks have to choose the same levels.
  if (again && app.auto_levels) app.auto_levels->restored(highest_needed(*accepted), setting_.clock() - start);
  return again;
}

Result<std::vector<replay::Repeated>> SessionImpl::settle_messages(std::uint64_t epoch) {
  Application& app = application_;
  const auto told = ranks().allgather(encode(app.journal->standing(app.replaces, app.calls, app.last_version.value)));
  if (!told) return fail(told.error());
  std::vector<Standing> standings;
  for (const Buffer& bytes : *told) {
    auto standing = replay::decode_standing(bytes);
    if (!standing) return fail(standing.error());
    standings.push_back(std::move(*standing));
  }
  const auto agreement = replay::agree_on(standings, epoch);
  if (!agreement) return fail(agreement.error());
  // If a rank cannot read its log, it still takes part: the others learn of it by the vote that follows.
  const auto out = app.journal->shipments(*agreement, epoch);
  const auto shipped = replay::exchange(ranks(), out.value_or(std::map<std::uint32_t, Buffer>{}));
  if (!shipped) return fail(shipped.error());
  if (auto settled = settle_choices(*agreement, epoch); !settled) return fail(settled.error());
  if (!out) return fail(out.error());
  auto again = app.journal->goes_on(*agreement, epoch, *shipped);
  if (!again) return again;
  app.last_version = Version{std::max(app.last_version.value, agreement->version)};
  app.schedule = Schedule(setting_.config.levels, connection_->life.usable, agreement->newest);
  app.auto_levels = AutoLevels::make(setting_.config, connection_->life.usable, connection_->life.incarnation,
                                     connection_->membership->topology.node_count(), connection_->life.measured);
  // A replacement does not know for which levels the dead rank has meant it.
  for (const LevelId level : kAllLevels) {
    const auto at = static_cast<std::size_t>(level);
    app.dropped[at] = app.replaces ? app.last_version : std::max(app.dropped[at], app.meant[at]);
  }
  app.meant = {};
  if (connection_->pulse) connection_->pulse.emplace(ranks(), setting_.clock);
  if (agreement->replaced.empty() && app.rank.value == 0) setting_.log.info("no rank rolls back");
  if (!agreement->replaced.empty() && agreement->replaced.front() == app.rank.value)
    setting_.log.info("only {} {} {} back, to snapshot() call {} of {}; {} ranks ship {} KiB of messages",
                      agreement->replaced.size() == 1 ? "rank" : "ranks", fmt::join(agreement->replaced, ", "),
                      agreement->replaced.size() == 1 ? "rolls" : "roll", epoch, agreement->newest, shipped->size(),
                      size_of(*shipped) / kKiB);
  return again;
}

// An exchange that only one side has made, perhaps since a replacement leaves out or repeats one, shifts all later
// messages. No checksum shows that.
Status SessionImpl::check_messages() {
  const std::uint64_t since = *application_.journal->unchecked_since();
  std::uint64_t sum = application_.journal->balance(since);
  const auto reduction = ranks().iallreduce({&sum, 1}, Reduce::sum);
  Result<bool> over = false;
  const auto done = [&] { return !(over = reduction->test()) || *over; };
  if (auto waited = wait_until(done, "snapshot()", HeadLink::WokenBy::nobody); !waited) return waited;
  if (!over) return fail(over.error());
  if (sum == 0) {
    application_.journal->is_checked();
    return {};
  }
  const std::string text = fmt::format(
      "messages or communicators since snapshot() call {} do not match: a replacement has exchanged or made others "
      "than the dead rank, or a rank has received messages that are not logged",
      since);
  if (ranks().rank().value == 0) setting_.log.warning("{}", text);
  application_.journal->obstructs(text, replay::Journal::Until::next_snapshot);
  return fail(Code::communication, text);
}

}  // namespace cairn
