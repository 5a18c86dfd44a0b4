#include "session/session_impl.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/plain_text.hpp"
#include "base/symptom.hpp"
#include "format/shard.hpp"
#include "session/rehearsal.hpp"
#include "session/stop_signal.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// Also after an exception.
class Released {
 public:
  explicit Released(Regions& regions) : regions_(regions) {}
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;
  ~Released() { regions_.end_snapshot(); }

 private:
  Regions& regions_;
};

bool is_asked_to_stop(const Config::Restart& restart) {
  return restart.stop_signal && StopSignal::seen(*restart.stop_signal);
}

// As far as this rank knows of the failure. Where labels differ, the next snapshot would fail, too.
void take_label_of_failed_snapshot(NextNotes& notes, const HeadLink& link) {
  const auto labeled = notes.labeled();
  if (!labeled) return;
  const auto& failure = link.failure(*labeled, LevelId::local);
  if (failure && failure->code != Code::mismatch) notes.take_label_back();
}

}  // namespace

SessionImpl::SessionImpl(Setting setting, Application application, std::unique_ptr<rollback::LoggedRank> logged,
                         std::unique_ptr<Connection> connection)
    : setting_(std::move(setting)),
      application_(std::move(application)),
      logged_(std::move(logged)),
      connection_(std::move(connection)) {
  if (logged_) logged_->joins(world_of_ranks());
}

SessionImpl::~SessionImpl() {
  abandon(Abandoned::dropped);
  if (logged_) logged_->leaves();
}

void SessionImpl::abandon(Abandoned how) {
  open_snapshots_.end(closed_snapshot());
  if (finalized_) return;
  finalized_ = true;
  if (!connection_) return;
  connection_->leave({.version = application_.last_version,
                      .calls = application_.whole_calls(),
                      .keep_going = true,
                      .abandoned = true,
                      .ended_mpi = how == Abandoned::mpi_ended});
}

Status SessionImpl::usable_now(const char* call) const {
  if (!connection_) return fail(lost_connection());
  if (!finalized_) return {};
  return fail(Code::invalid_argument, fmt::format("{} was called after finalize", call));
}

Result<std::string> SessionImpl::scratch_file(const std::string& name, detail::AnyKind kind) {
  if (auto status = usable_now("scratch_file"); !status) return fail(status.error());
  RegionInfo region;  // only its name matters here
  region.name = name;
  region.type = ElementType::uint8;
  if (auto good = check(region); !good) return fail(good.error());
  if (name.starts_with('.'))
    return fail(Code::invalid_argument, fmt::format("scratch file \"{}\": its name begins with '.'", name));
  // Somebody may have removed the store.
  const auto directory = connection_->local->directory_of_files(names::files(rank()));
  if (!directory) return fail(directory.error().in(fmt::format("scratch file \"{}\"", name)));
  std::string path = *directory + "/" + name;
  const std::string* const known = regions().scratch_path(name);
  if (known == nullptr || *known != path) {
    detail::RegionAccess access;
    access.file = path;
    access.path_kind = detail::PathKind::scratch_file;
    access.kind = std::move(kind);
    if (auto status = protect(name, std::move(access)); !status) return fail(status.error());
  } else if (kind.index() != 0) {
    if (auto status = regions().set_kind(name, std::move(kind)); !status) return fail(status.error());
  }
  return path;
}

SessionImpl::HeadFacts SessionImpl::head() const {
  const Membership& me = *connection_->membership;
  HeadFacts facts{.node = me.node, .process = connection_->life.process, .rank = {}};
  if (!me.here().dedicated_head) facts.rank = me.here().ranks.front();
  if (me.topology.runs_inline(me.node)) facts.process = 0;
  return facts;
}

Result<bool> SessionImpl::due() {
  const WatchedCall watched(watcher_, CairnCall::snapshot, !application_.decided);
  while (true) {
    const std::uint64_t counted = application_.calls;
    auto decided = decide();
    if (!decided) {
      if (!stays_after(decided.error())) return fail(decided.error());
      if (application_.calls == counted) continue;
      // The failure has struck it after it began to count: now it is one of those that take no snapshot.
      application_.decided = levels_of_past_call();
    }
    return !application_.decided->empty();
  }
}

// What due() decides, unless it has been called before.
Status SessionImpl::decide() {
  if (auto status = begin_snapshot(); !status) return status;
  if (application_.decided) return {};
  if (is_past_call()) {
    ++application_.calls;
    application_.decided = levels_of_past_call();
    return {};
  }
  auto due = levels_due();
  if (!due) return fail(due.error());
  application_.decided = *due;
  return {};
}

// What comes before the decision whether a snapshot is due.
Status SessionImpl::begin_snapshot() {
  if (auto status = usable_now("snapshot"); !status) return status;
  if (application_.undefined) return fail(application_.undefined->in("snapshot() is refused because a restore failed"));
  if (!is_under_way()) link().wake_head();  // otherwise it gets no message until a snapshot is due
  return link().poll_if_rung();
}

Result<std::optional<Version>> SessionImpl::snapshot(std::optional<LevelId> forced) {
  while (true) {
    const std::uint64_t made = application_.whole_calls();
    die_if_planned(setting_.rehearsal, {made + 1, application_.rank});
    auto taken = snapshot_now(forced);
    if (!taken) {
      if (!stays_after(taken.error())) return taken;
      if (application_.whole_calls() == made) continue;
      // The failure has struck it after it began to count: now it is one of those that take no snapshot.
      enter_safe_point();
      taken = logged_->answer_of(application_.calls);
    }
    if (*taken) application_.notes.use(**taken);
    // If no rank has taken the one that was asked for, all of them make another call.
    if (*taken || !forced) return taken;
  }
}

Result<std::optional<Version>> SessionImpl::snapshot_now(std::optional<LevelId> forced) {
  // One that due() has begun is the same call.
  const WatchedCall watched(watcher_, CairnCall::snapshot, !application_.decided);
  if (auto status = begin_snapshot(); !status) return fail(status.error());
  if (forced && !connection_->life.usable.has(*forced)) {
    return fail(Code::invalid_argument, fmt::format("L{} is off in this job", static_cast<int>(*forced)),
                fmt::format("set [levels] l{} and give it enough nodes", static_cast<int>(*forced)));
  }
  if (is_past_call()) {
    if (!application_.decided) ++application_.calls;
    application_.decided.reset();
    enter_safe_point();
    return logged_->answer_of(application_.calls);
  }
  if (auto status = check_messages(); !status) return fail(status.error());
  auto span = connection_->trace.span("snapshot");
  Result<LevelSet> due = application_.decided ? *application_.decided : levels_due();
  application_.decided.reset();
  if (!due) return fail(due.error());
  enter_safe_point();
  if (forced) due->add(*forced);
  if (application_.notes.pins() && !due->empty()) due->add(LevelId::global);
  std::optional<Version> taken;
  if (due->empty()) {
    span.drop();
  } else {
    const auto start = setting_.clock();
    taken = Version{++application_.last_version.value};
    if (logged_) logged_->journal().takes(application_.calls, taken->value);
    span.set_version(*taken);
    take_label_of_failed_snapshot(application_.notes, link());
    auto written = write(*taken, *due);
    application_.notes.use(*taken);
    if (!written) application_.notes.take_label_back();
    if (!written && !goes_on_after(written.error())) return fail(written.error());
    if (application_.auto_levels && written) {
      const auto promoting = take_promotions();
      application_.auto_levels->meter().snapshot_took(
          setting_.clock() - start, connection_->engine.in_calls ? promoting : std::chrono::microseconds{0});
    }
  }
  if (auto status = report_errors(); !status) return fail(status.error());
  return taken;
}

// A rank that has left its session does not make this call. Then no agreement on time and no snapshot of this call can
// be completed. A rank may get this message during this call or later; in a later call, all have it.
Status SessionImpl::all_take_part() const {
  const auto& left = link().left;
  if (!left || application_.calls <= left->calls) return {};
  return fail(error_of(*left).in("no snapshot can be completed"));
}

// The same on every rank.
Result<LevelSet> SessionImpl::levels_due() {
  return levels_by_rule().map([this](LevelSet due) { return application_.schedule.with_first(due); });
}

// From the call's number, and from what all agreed on.
Result<LevelSet> SessionImpl::levels_by_rule() {
  LevelSet due = application_.schedule.due(++application_.calls);
  if (auto status = all_take_part(); !status) return fail(status.error());
  if (pulse() == nullptr) return due;
  auto span = connection_->trace.span("agree on time");
  take_promotions();
  Result<bool> ready = true;
  const auto is_ready = [&] { return !(ready = pulse()->ready()) || *ready || !all_take_part(); };
  if (auto heard = wait_until(is_ready, "snapshot()", HeadLink::WokenBy::nobody); !heard) return fail(heard.error());
  if (!ready) return fail(ready.error());
  if (!*ready) return fail(all_take_part().error());
  auto beat = pulse()->call([this] {
    return Pulse::Mine{
        .stop = is_asked_to_stop(setting_.config.restart),
        .log_fills = logged_ && logged_->journal().note_growth(),
        .logged = logged_ ? logged_->journal().logged_millionths() : 0,
        .asked_for = link().take_snapshot_now(),
        .costs = application_.auto_levels ? application_.auto_levels->meter().costs() : RankCosts{},
    };
  });
  if (!beat) return fail(beat.error());
  if (!*beat) {
    span.drop();
    return due;
  }
  span.end();
  due.add(application_.schedule.due_by_time((*beat)->elapsed));
  if ((*beat)->log_fills) due.add(level_that_cuts_the_log());
  if ((*beat)->asked_for) due.add(*(*beat)->asked_for);
  if (application_.auto_levels) {
    due.add(application_.auto_levels->due(**beat));
    if (auto status = report_auto_levels(); !status) return fail(status.error());
  }
  if ((*beat)->stop && !application_.stop) {
    application_.stop = true;
    if (logged_) logged_->note_stop_signal();
    const LevelId last = connection_->life.usable.has(LevelId::global) ? LevelId::global : LevelId::local;
    due.add(last);
    if (connection_->rank().value == 0)
      setting_.log.info("stop signal received: this snapshot will be written to L{}, and should_stop() is true",
                        static_cast<int>(last));
  }
  return due;
}

// Application rank 0 writes the log and informs its head, which keeps the record for the next life.
Status SessionImpl::report_auto_levels() {
  if (connection_->rank().value != 0) return {};
  if (const auto news = application_.auto_levels->take_news()) setting_.log.info("{}", *news);
  const auto record = application_.auto_levels->take_record();
  return record ? link().send(*record) : Status{};
}

// The time that heads have spent on promoting snapshots since the last call. The heads measure it, because their
// messages may arrive late.
std::chrono::microseconds SessionImpl::take_promotions() {
  std::chrono::microseconds sum{0};
  for (const Reached& promotion : std::exchange(link().promotions, {})) {
    sum += promotion.took;
    if (application_.auto_levels) application_.auto_levels->meter().promotion_took(promotion.level, promotion.took);
  }
  return sum;
}

// Back-pressure: a slot that is still needed is not overwritten. A rank whose wait ends without a slot has still used
// up the version's number, as the other ranks have, which may have got theirs.
Status SessionImpl::wait_for_slot() {
  if (link().outstanding() < connection_->life.slots) return {};
  const auto span = connection_->trace.span("wait for slot");
  const auto start = std::chrono::steady_clock::now();
  const auto is_free = [&] { return link().outstanding() < connection_->life.slots; };
  auto freed = link().wait_until([&] { return is_free() || !all_take_part(); },
                                 {.call = "snapshot()", .limit = setting_.config.head.wait_limit});
  application_.waited_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!freed) return fail(freed.error());
  if (*freed) return is_free() ? Status{} : all_take_part();
  return fail(Code::io,
              fmt::format("rank {} waited {:g} s for its head to finish versions {} to {}{}", connection_->rank().value,
                          std::chrono::duration<double>(setting_.config.head.wait_limit).count(),
                          link().sealed().begin()->value, link().sealed().rbegin()->value,
                          link().missing ? "; " + *link().missing : ""),
              "take snapshots less often, or raise [head] wait_limit");
}

Status SessionImpl::write(Version version, LevelSet levels) {
  Status written = wait_for_slot();
  if (!written && written.error().code == Code::communication) return written;
  Seal seal{.version = version,
            .safe_point = application_.calls,
            .levels = levels,
            .error = {},
            .notes = application_.notes.notes(),
            .pin = application_.notes.pins(),
            .destinations = application_.regions.destinations(version)};
  if (written) {
    const auto bytes = try_to_write_shard_of(version);
    if (bytes) seal.bytes = *bytes;
    if (!bytes) written = fail(bytes.error());
  }
  if (!written) seal.error = written.error();
  application_.meant[static_cast<std::size_t>(LevelId::local)] = version;
  for (const LevelId level : levels) application_.meant[static_cast<std::size_t>(level)] = version;
  // The head gets a failure too: then the version is abandoned on all nodes, and nothing waits for it.
  if (auto status = link().send(seal); !status) return status;
  connection_->warmer.run(connection_->free_slots());
  // The other heads wait for this one, whatever became of the shard.
  if (auto status = run_head(version); !status) return status;
  if (written) return {};
  return fail(written.error().in(fmt::format("version {} could not be written", version.value)));
}

// An exception must not leave the call before the head has the seal: the other ranks have used this version's number.
Result<std::uint64_t> SessionImpl::try_to_write_shard_of(Version version) {
  try {
    return write_shard_of(version);
  } catch (const std::bad_alloc&) {
    return fail(Code::no_space, "the process is out of memory");
  } catch (const std::exception& error) {
    return fail(Code::io, error.what());
  }
}

Result<std::uint64_t> SessionImpl::write_shard_of(Version version) {
  Connection& here = *connection_;
  auto span = here.trace.span("write", version.value);
  const Released released(application_.regions);
  const auto regions = application_.regions.capture();
  if (!regions) return fail(regions.error());
  here.warmer.pause();
  const ShardIdentity who{.identity = here.identity(version),
                          .safe_point = application_.calls,
                          .rank = here.rank(),
                          .ranks = here.membership->topology.rank_count()};
  const FileName name = names::shard(names::snapshot(version, here.life.run), who.rank);
  auto bytes = write_shard(*here.local, name, who, regions->plan, regions->regions, regions->read);
  if (!bytes) return bytes;
  here.warmer.wrote(*bytes);
  span.set_bytes(*bytes);
  return bytes;
}

// [head] mode = inline: this rank is its node's head, and does the head's work now, until the version is safe at all
// its levels. It does not wait for later versions, which other ranks may already have begun: they need this rank's
// part.
Status SessionImpl::run_head(Version version) {
  if (!connection_->engine.in_calls) return {};
  const auto span = connection_->trace.span("run head", version.value);
  const auto over = [&] {
    const bool voted = link().reached(LevelId::local) >= version || link().failure(version, LevelId::local);
    return (voted && !connection_->engine.in_calls->busy_with(version)) || !all_take_part();
  };
  auto done = wait_until(over, "snapshot()");
  return done ? all_take_part() : done;
}

Status SessionImpl::wait(LevelId level) {
  if (auto status = usable_now("wait"); !status) return status;
  const WatchedCall watched(watcher_, CairnCall::wait);
  obstruct("calls wait()", rollback::Until::next_snapshot);
  const Version target = application_.meant[static_cast<std::size_t>(level)];
  const auto span = connection_->trace.span("wait", target.value);
  // A rank that has left does not take part in it.
  const auto never = [&] { return link().left && target > link().left->version; };
  if (logged_ && logged_->is_dropped(level, target, link().reached(level)))
    return logged_->rolls_back("waits for a snapshot that a failure has interrupted");
  const auto over = [&] { return link().reached(level) >= target || link().failure(target, level) || never(); };
  auto done = wait_until(over, fmt::format("wait() for version {} at L{}", target.value, static_cast<int>(level)));
  if (!done) return done;
  if (link().reached(level) < target) {
    if (!link().failure(target, level)) {
      return fail(error_of(*link().left).in(fmt::format("version {} cannot be completed", target.value)));
    }
    const Error error = *link().failure(target, level);
    std::erase_if(link().errors, [&](const auto& told) { return told.version == target && told.levels.has(level); });
    if (fails_for_storage(error.code)) application_.errors.of_storage = error.text();
    return fail(error);
  }
  return report_errors();
}

Result<Version> SessionImpl::safe_version(LevelId level) {
  while (true) {
    if (auto status = usable_now("safe_version"); !status) return fail(status.error());
    const auto status = link().poll();
    if (status) return link().reached(level);
    if (!stays_after(status.error())) return fail(status.error());
  }
}

// A head that is lost is noticed by the next call that needs it.
Status SessionImpl::suspect(const std::string& text) {
  if (!connection_) return {};
  if (auto status = usable_now("suspect"); !status) return status;
  if (text.empty())
    return fail(Code::invalid_argument, "suspect: the text is empty", "say in a few words what seems to be wrong");
  (void)link().send(Suspected{plain_text(text, kMostNoteBytes)});
  return {};
}

}  // namespace cairn
