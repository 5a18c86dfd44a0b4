// How a session ends.
#include <fmt/format.h>

#include "session/open_snapshot_impl.hpp"
#include "session/session_errors.hpp"
#include "session/session_impl.hpp"
#include "store/names.hpp"

namespace cairn {

Status SessionImpl::finalize() {
  if (auto status = state_.usable_now("finalize"); !status) return status;
  if (const auto open = open_snapshots_.first())
    return fail(Code::invalid_argument,
                fmt::format("finalize was called while version {} is open", open->version.value), "close() it first");
  const WatchedCall watched(state_.watcher, CairnCall::finalize);
  auto span = state_.connection->trace.span("finalize");
  if (state_.application.auto_levels && state_.connection->rank().value == 0) {
    if (auto status = state_.link().send(state_.application.auto_levels->record()); !status) return status;
  }
  // The end of the chain empties the node's store: no slot may be made ready in it after that.
  state_.connection->warmer.pause();
  if (state_.application.regions.have_scratch_files()) {
    if (auto removed = state_.connection->local->remove_directory(names::files(rank())); !removed)
      state_.setting.log.warning("{}", removed.error().text());
  }
  const FinalizeRequest request{.version = state_.application.last_version,
                                .calls = state_.application.whole_calls(),
                                .keep_going = state_.application.stop,
                                .undefined = state_.application.undefined.has_value()};
  if (auto status = state_.link().send(request); !status) return status;
  PulseClosing closing(state_.pulse(), Pulse::At::finalize);
  const auto over = [&] {
    // If the error is that a rank is gone, the pulse never closes.
    return (closing.go_on() && state_.link().finalized) || (state_.link().finalized && state_.link().finalized->error);
  };
  auto heard = state_.link().wait_until(over, {"finalize()"});
  state_.finalized = true;
  if (!heard) return fail(heard.error());
  if (state_.logged) state_.logged->ends();
  if (state_.connection->engine.thread.joinable()) state_.connection->engine.thread.join();
  span.end();
  state_.connection->trace.flush();  // an application may keep the session for long
  using Kind = CompletionMark::Kind;
  if (state_.link().finalized->error) {
    leave_mark(state_, Kind::failed, *state_.link().finalized->error);
    const Error error = *state_.link().finalized->error;
    if (const auto others = report_errors(state_); !others) state_.setting.log.error("{}", others.error().text());
    leave_mark_of(state_, error);
    return fail(error);
  }
  if (state_.application.undefined) {
    if (state_.connection->rank().value == 0)
      state_.setting.log.warning("finalize() keeps all snapshots because a restore failed");
    leave_mark(state_, Kind::failed, *state_.application.undefined);
    return report_errors(state_);
  }
  // Other errors on the way are reported, but did not prevent the end: the chain has ended as it should.
  Status status = report_errors(state_);
  if (status && state_.setting.config.job.on_storage_error == Config::Job::OnStorageError::continue_)
    status = newest_is_safe(state_);
  leave_mark(state_, state_.application.stop ? Kind::stopped : Kind::finished);
  return status;
}

}  // namespace cairn
