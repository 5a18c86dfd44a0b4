#include "session/session_errors.hpp"

#include <optional>
#include <utility>

namespace cairn {
namespace {

// The job continues after an error of a snapshot, and a later one has come as far: a restart would succeed.
void forget_marked_error(SessionState& session) {
  const auto& marked = session.application.errors.marked;
  if (session.finalized || !marked || session.link().reached(marked->level) <= marked->version) return;
  leave_mark(session, CompletionMark::Kind::opened);
  session.application.errors.marked.reset();
}

}  // namespace

bool goes_on_after(SessionState& session, const Error& error) {
  if (!fails_for_storage(error.code)) return false;
  session.application.errors.of_storage = error.text();
  return session.setting.config.job.on_storage_error == Config::Job::OnStorageError::continue_;
}

Status report_errors(SessionState& session) {
  std::optional<HeadLink::BackgroundError> told;
  forget_marked_error(session);
  for (auto& [error, version, levels] : std::exchange(session.link().errors, {})) {
    if (goes_on_after(session, error)) continue;
    if (told) {
      session.setting.log.error("{}", error.text());
    } else {
      told = {std::move(error), version, levels};
    }
  }
  if (!told) return {};
  leave_mark_of(session, told->error);
  if (restart_would_fail(told->error.code)) {
    session.application.errors.marked.reset();
    // Another run has taken the job over: nothing changes that.
    const bool abandoned = told->levels.has(LevelId::local);  // at all levels
    if (told->error.code != Code::taken_over)
      for (const LevelId level : abandoned ? LevelSet{LevelId::local} : told->levels)
        session.application.errors.marked = {level, told->version};
  }
  return fail(told->error);
}

Status newest_is_safe(const SessionState& session) {
  const Version newest = session.application.meant[static_cast<std::size_t>(LevelId::local)];
  for (const LevelId level : LevelSet::all()) {
    const auto& failure = session.link().failure(newest, level);
    if (!failure || session.application.meant.at(static_cast<std::size_t>(level)) != newest) continue;
    bool safer = false;
    for (const LevelId higher : LevelSet::all()) safer |= higher > level && session.link().reached(higher) >= newest;
    if (!safer) return fail(*failure);
  }
  return {};
}

void leave_mark(const SessionState& session, CompletionMark::Kind kind) {
  if (!session.setting.leave_mark) return;
  const bool opened = kind == CompletionMark::Kind::opened;
  session.setting.leave_mark(session.setting.config, {kind, {}, opened ? session.connection->life.run : RunId{}});
}

void leave_mark(const SessionState& session, CompletionMark::Kind kind, const Error& error) {
  if (session.setting.leave_mark)
    session.setting.leave_mark(session.setting.config, {kind, error.text(), {}, cause_of(error)});
}

void leave_mark_of(const SessionState& session, const Error& error) {
  if (restart_would_fail(error.code)) leave_mark(session, CompletionMark::Kind::error, error);
}

}  // namespace cairn
