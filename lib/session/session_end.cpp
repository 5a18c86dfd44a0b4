// How a session ends, and what becomes of errors on the way: they are reported once, and ckpt-run finds a mark.
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "session/open_snapshot_impl.hpp"
#include "session/session_impl.hpp"
#include "store/names.hpp"

namespace cairn {

// Whether the job continues after this error without an exception: the log has it, and wait() and finalize() report it.
bool SessionImpl::goes_on_after(const Error& error) {
  if (!fails_for_storage(error.code)) return false;
  application_.errors.of_storage = error.text();
  return setting_.config.job.on_storage_error == Config::Job::OnStorageError::continue_;
}

// Each background error is reported once, by the call after it became known.
Status SessionImpl::report_errors() {
  std::optional<HeadLink::BackgroundError> told;
  forget_marked_error();
  for (auto& [error, version, levels] : std::exchange(link().errors, {})) {
    if (goes_on_after(error)) continue;
    if (told) {
      setting_.log.error("{}", error.text());
    } else {
      told = {std::move(error), version, levels};
    }
  }
  if (!told) return {};
  leave_mark_of(told->error);
  if (restart_would_fail(told->error.code)) {
    application_.errors.marked.reset();
    // Another run has taken the job over: nothing changes that.
    const bool abandoned = told->levels.has(LevelId::local);  // at all levels
    if (told->error.code != Code::taken_over)
      for (const LevelId level : abandoned ? LevelSet{LevelId::local} : told->levels)
        application_.errors.marked = {level, told->version};
  }
  return fail(told->error);
}

// The job continues after an error of a snapshot, and a later one has come as far: a restart would succeed.
void SessionImpl::forget_marked_error() {
  const auto& marked = application_.errors.marked;
  if (finalized_ || !marked || link().reached(marked->level) <= marked->version) return;
  leave_mark(CompletionMark::Kind::opened);
  application_.errors.marked.reset();
}

// Whether the newest snapshot is at the levels that it was meant for, or at higher ones.
Status SessionImpl::newest_is_safe() const {
  const Version newest = application_.meant[static_cast<std::size_t>(LevelId::local)];
  for (const LevelId level : LevelSet::all()) {
    const auto& failure = link().failure(newest, level);
    if (!failure || application_.meant.at(static_cast<std::size_t>(level)) != newest) continue;
    bool safer = false;
    for (const LevelId higher : LevelSet::all()) safer |= higher > level && link().reached(higher) >= newest;
    if (!safer) return fail(*failure);
  }
  return {};
}

void SessionImpl::leave_mark(CompletionMark::Kind kind) const {
  if (!setting_.leave_mark) return;
  const bool opened = kind == CompletionMark::Kind::opened;
  setting_.leave_mark(setting_.config, {kind, {}, opened ? connection_->life.run : RunId{}});
}

void SessionImpl::leave_mark(CompletionMark::Kind kind, const Error& error) const {
  if (setting_.leave_mark) setting_.leave_mark(setting_.config, {kind, error.text(), {}, cause_of(error)});
}

void SessionImpl::leave_mark_of(const Error& error) const {
  if (restart_would_fail(error.code)) leave_mark(CompletionMark::Kind::error, error);
}

Status SessionImpl::finalize() {
  if (auto status = usable_now("finalize"); !status) return status;
  if (const auto open = open_snapshots_.first())
    return fail(Code::invalid_argument,
                fmt::format("finalize was called while version {} is open", open->version.value), "close() it first");
  const WatchedCall watched(watcher_, CairnCall::finalize);
  auto span = connection_->trace.span("finalize");
  if (application_.auto_levels && connection_->rank().value == 0) {
    if (auto status = link().send(application_.auto_levels->record()); !status) return status;
  }
  // The end of the chain empties the node's store: no slot may be made ready in it after that.
  connection_->warmer.pause();
  if (application_.regions.have_scratch_files()) {
    if (auto removed = connection_->local->remove_directory(names::files(rank())); !removed)
      setting_.log.warning("{}", removed.error().text());
  }
  const FinalizeRequest request{.version = application_.last_version,
                                .calls = application_.whole_calls(),
                                .keep_going = application_.stop,
                                .undefined = application_.undefined.has_value()};
  if (auto status = link().send(request); !status) return status;
  PulseClosing closing(pulse(), Pulse::At::finalize);
  const auto over = [&] {
    // If the error is that a rank is gone, the pulse never closes.
    return (closing.go_on() && link().finalized) || (link().finalized && link().finalized->error);
  };
  auto heard = link().wait_until(over, {"finalize()"});
  finalized_ = true;
  if (!heard) return fail(heard.error());
  if (logged_) logged_->ends();
  if (connection_->engine.thread.joinable()) connection_->engine.thread.join();
  span.end();
  connection_->trace.flush();  // an application may keep the session for long
  using Kind = CompletionMark::Kind;
  if (link().finalized->error) {
    leave_mark(Kind::failed, *link().finalized->error);
    const Error error = *link().finalized->error;
    if (const auto others = report_errors(); !others) setting_.log.error("{}", others.error().text());
    leave_mark_of(error);
    return fail(error);
  }
  if (application_.undefined) {
    if (connection_->rank().value == 0) setting_.log.warning("finalize() keeps all snapshots because a restore failed");
    leave_mark(Kind::failed, *application_.undefined);
    return report_errors();
  }
  // Other errors on the way are reported, but did not prevent the end: the chain has ended as it should.
  Status status = report_errors();
  if (status && setting_.config.job.on_storage_error == Config::Job::OnStorageError::continue_)
    status = newest_is_safe();
  leave_mark(application_.stop ? Kind::stopped : Kind::finished);
  return status;
}

}  // namespace cairn
