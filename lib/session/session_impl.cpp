#include "session/session_impl.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/plain_text.hpp"
#include "base/symptom.hpp"
#include "session/rehearsal.hpp"
#include "session/session_errors.hpp"
#include "session/snapshot_levels.hpp"
#include "session/snapshot_write.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// As far as this rank knows of the failure. Where labels differ, the next snapshot would fail, too.
void take_label_of_failed_snapshot(NextNotes& notes, const HeadLink& link) {
  const auto labeled = notes.labeled();
  if (!labeled) return;
  const auto& failure = link.failure(*labeled, LevelId::local);
  if (failure && failure->code != Code::mismatch) notes.take_label_back();
}

}  // namespace

SessionImpl::SessionImpl(SessionState state) : state_(std::move(state)) {
  if (state_.logged) state_.logged->joins(world_of_ranks());
}

SessionImpl::~SessionImpl() {
  abandon(Abandoned::dropped);
  if (state_.logged) state_.logged->leaves();
}

void SessionImpl::abandon(Abandoned how) {
  open_snapshots_.end(closed_snapshot());
  if (state_.finalized) return;
  state_.finalized = true;
  if (!state_.connection) return;
  state_.connection->leave({.version = state_.application.last_version,
                            .calls = state_.application.whole_calls(),
                            .keep_going = true,
                            .abandoned = true,
                            .ended_mpi = how == Abandoned::mpi_ended});
}

Result<std::string> SessionImpl::scratch_file(const std::string& name, detail::AnyKind kind) {
  if (auto status = state_.usable_now("scratch_file"); !status) return fail(status.error());
  RegionInfo region;  // only its name matters here
  region.name = name;
  region.type = ElementType::uint8;
  if (auto good = check(region); !good) return fail(good.error());
  if (name.starts_with('.'))
    return fail(Code::invalid_argument, fmt::format("scratch file \"{}\": its name begins with '.'", name));
  // Somebody may have removed the store.
  const auto directory = state_.connection->local->directory_of_files(names::files(rank()));
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
  const Membership& me = *state_.connection->membership;
  HeadFacts facts{.node = me.node, .process = state_.connection->life.process, .rank = {}};
  if (!me.here().dedicated_head) facts.rank = me.here().ranks.front();
  if (me.topology.runs_inline(me.node)) facts.process = 0;
  return facts;
}

Result<bool> SessionImpl::due() {
  const WatchedCall watched(state_.watcher, CairnCall::snapshot, !state_.application.decided);
  while (true) {
    const std::uint64_t counted = state_.application.calls;
    auto decided = decide();
    if (!decided) {
      if (!state_.stays_after(decided.error())) return fail(decided.error());
      if (state_.application.calls == counted) continue;
      // The failure has struck it after it began to count: now it is one of those that take no snapshot.
      state_.application.decided = levels_of_past_call();
    }
    return !state_.application.decided->empty();
  }
}

// What due() decides, unless it has been called before.
Status SessionImpl::decide() {
  if (auto status = begin_snapshot(); !status) return status;
  if (state_.application.decided) return {};
  if (is_past_call()) {
    ++state_.application.calls;
    state_.application.decided = levels_of_past_call();
    return {};
  }
  auto due = levels_due(state_);
  if (!due) return fail(due.error());
  state_.application.decided = *due;
  return {};
}

// What comes before the decision whether a snapshot is due.
Status SessionImpl::begin_snapshot() {
  if (auto status = state_.usable_now("snapshot"); !status) return status;
  if (state_.application.undefined)
    return fail(state_.application.undefined->in("snapshot() is refused because a restore failed"));
  if (!is_under_way()) state_.link().wake_head();  // otherwise it gets no message until a snapshot is due
  return state_.link().poll_if_rung();
}

Result<std::optional<Version>> SessionImpl::snapshot(std::optional<LevelId> forced) {
  while (true) {
    const std::uint64_t made = state_.application.whole_calls();
    die_if_planned(state_.setting.rehearsal, {made + 1, state_.application.rank});
    auto taken = snapshot_now(forced);
    if (!taken) {
      if (!state_.stays_after(taken.error())) return taken;
      if (state_.application.whole_calls() == made) continue;
      // The failure has struck it after it began to count: now it is one of those that take no snapshot.
      enter_safe_point();
      taken = state_.logged->answer_of(state_.application.calls);
    }
    if (*taken) state_.application.notes.use(**taken);
    if (is_last_call(state_.setting.rehearsal, made + 1)) {
      open_snapshots_.end(closed_snapshot());
      state_.application.stop = true;  // the job is not at its end
      if (auto ended = finalize(); !ended) return fail(ended.error());
      wait_to_be_ended();
    }
    // If no rank has taken the one that was asked for, all of them make another call.
    if (*taken || !forced) return taken;
  }
}

Result<std::optional<Version>> SessionImpl::snapshot_now(std::optional<LevelId> forced) {
  // One that due() has begun is the same call.
  const WatchedCall watched(state_.watcher, CairnCall::snapshot, !state_.application.decided);
  if (auto status = begin_snapshot(); !status) return fail(status.error());
  if (forced && !state_.connection->life.usable.has(*forced)) {
    return fail(Code::invalid_argument, fmt::format("L{} is off in this job", static_cast<int>(*forced)),
                fmt::format("set [levels] l{} and give it enough nodes", static_cast<int>(*forced)));
  }
  if (is_past_call()) {
    if (!state_.application.decided) ++state_.application.calls;
    state_.application.decided.reset();
    enter_safe_point();
    return state_.logged->answer_of(state_.application.calls);
  }
  if (auto status = check_messages(); !status) return fail(status.error());
  auto span = state_.connection->trace.span("snapshot");
  Result<LevelSet> due = state_.application.decided ? *state_.application.decided : levels_due(state_);
  state_.application.decided.reset();
  if (!due) return fail(due.error());
  enter_safe_point();
  if (forced) due->add(*forced);
  if (is_last_call(state_.setting.rehearsal, state_.application.calls))
    due->add(last_level(state_.connection->life.usable));
  if (state_.application.notes.pins() && !due->empty()) due->add(LevelId::global);
  std::optional<Version> taken;
  if (due->empty()) {
    span.drop();
  } else {
    const auto start = state_.setting.clock();
    taken = Version{++state_.application.last_version.value};
    if (state_.logged) state_.logged->takes(state_.application.calls, *taken);
    span.set_version(*taken);
    take_label_of_failed_snapshot(state_.application.notes, state_.link());
    auto written = write_snapshot(state_, *taken, *due);
    state_.application.notes.use(*taken);
    if (!written) state_.application.notes.take_label_back();
    if (!written && !goes_on_after(state_, written.error())) return fail(written.error());
    if (state_.application.auto_levels && written) {
      const auto promoting = take_promotions(state_);
      state_.application.auto_levels->meter().snapshot_took(
          state_.setting.clock() - start,
          state_.connection->engine.in_calls ? promoting : std::chrono::microseconds{0});
    }
  }
  if (auto status = report_errors(state_); !status) return fail(status.error());
  return taken;
}

Status SessionImpl::wait(LevelId level) {
  if (auto status = state_.usable_now("wait"); !status) return status;
  const WatchedCall watched(state_.watcher, CairnCall::wait);
  obstruct("calls wait()", rollback::Until::next_snapshot);
  const Version target = state_.application.meant[static_cast<std::size_t>(level)];
  const auto span = state_.connection->trace.span("wait", target.value);
  // A rank that has left does not take part in it.
  const auto never = [&] { return state_.link().left && target > state_.link().left->version; };
  if (state_.logged && state_.logged->is_dropped(level, target, state_.link().reached(level)))
    return state_.logged->rolls_back("waits for a snapshot that a failure has interrupted");
  const auto over = [&] {
    return state_.link().reached(level) >= target || state_.link().failure(target, level) || never();
  };
  auto done =
      state_.wait_until(over, fmt::format("wait() for version {} at L{}", target.value, static_cast<int>(level)));
  if (!done) return done;
  if (state_.link().reached(level) < target) {
    if (!state_.link().failure(target, level)) {
      return fail(error_of(*state_.link().left).in(fmt::format("version {} cannot be completed", target.value)));
    }
    const Error error = *state_.link().failure(target, level);
    std::erase_if(state_.link().errors,
                  [&](const auto& told) { return told.version == target && told.levels.has(level); });
    if (fails_for_storage(error.code)) state_.application.errors.of_storage = error.text();
    return fail(error);
  }
  return report_errors(state_);
}

Result<Version> SessionImpl::safe_version(LevelId level) {
  while (true) {
    if (auto status = state_.usable_now("safe_version"); !status) return fail(status.error());
    const auto status = state_.link().poll();
    if (status) return state_.link().reached(level);
    if (!state_.stays_after(status.error())) return fail(status.error());
  }
}

// A head that is lost is noticed by the next call that needs it.
Status SessionImpl::suspect(const std::string& text) {
  if (!state_.connection) return {};
  if (auto status = state_.usable_now("suspect"); !status) return status;
  if (text.empty())
    return fail(Code::invalid_argument, "suspect: the text is empty", "say in a few words what seems to be wrong");
  (void)state_.link().send(Suspected{plain_text(text, kMostNoteBytes)});
  return {};
}

}  // namespace cairn
