// The session's part in a repair after which only the lost ranks roll back. Survivors keep their state, and join the
// repaired world inside the call that the failure has struck. What belongs to messages is in rollback/.
#include <utility>

#include "session/offered_shards.hpp"
#include "session/session_impl.hpp"

namespace cairn {

rollback::LoggedRank::World SessionImpl::world_of_ranks() { return {ranks(), local_store(), connection_->trace}; }

Status SessionImpl::wait_until(const std::function<bool()>& done, const std::string& call, HeadLink::WokenBy woken_by) {
  const auto wait = [&](const std::function<bool()>& is_over) -> Status {
    const auto waited = link().wait_until(is_over, {.call = call, .woken_by = woken_by});
    return waited ? Status{} : fail(waited.error());
  };
  return logged_ && logged_->is_unchecked() ? logged_->wait_patiently(done, call, wait) : wait(done);
}

Status SessionImpl::check_messages() {
  if (!logged_ || !logged_->is_unchecked()) return {};
  return logged_->check_messages([&](const std::function<bool()>& is_over) -> Status {
    const auto waited = link().wait_until(is_over, {.call = "snapshot()", .woken_by = HeadLink::WokenBy::nobody});
    return waited ? Status{} : fail(waited.error());
  });
}

void SessionImpl::disconnect() {
  if (!connection_) return;
  if (logged_) {
    logged_->drops(application_.meant, [&](LevelId level) { return link().reached(level); });
    logged_->leaves();
  }
  application_.meant = {};
  open_snapshots_.end(lost_connection());
  link().wake_head();
  connection_.reset();
}

Status SessionImpl::reconnect(const Environment& environment) {
  auto connection = connect(environment, setting_.config, setting_.log);
  if (!connection) return fail(connection.error());
  connection_ = std::move(*connection);
  application_.incarnation = connection_->life.incarnation;
  if (logged_) logged_->joins(world_of_ranks());
  return {};
}

// The next snapshot() call was made by some rank before a failure.
bool SessionImpl::is_past_call() const {
  return logged_ && logged_->is_past(application_.calls + (application_.decided ? 0 : 1));
}

// What due() answers then, which has begun the call.
LevelSet SessionImpl::levels_of_past_call() const {
  LevelSet levels;
  if (logged_->answer_of(application_.calls)) levels.add(LevelId::local);
  return levels;
}

void SessionImpl::enter_safe_point() {
  if (logged_) logged_->enters(application_.calls, [&](LevelId level) { return link().reached(level); });
}

// Of a snapshot that is taken because a log will soon be full.
LevelId SessionImpl::level_that_cuts_the_log() {
  const LevelId lowest = level_that_cuts_logs(setting_.config, connection_->life.usable);
  logged_->note_full_log(lowest);
  return lowest;
}

// A replacement gets what survivors ship to it. All other ranks that have restored begin a new log.
Status SessionImpl::begin_log(const Status& completed) {
  Application& app = application_;
  if (!logged_->replaces()) return logged_->begins(app.calls);
  const auto settled = logged_->takes_over(app.calls, app.last_version, completed);
  if (!settled) return fail(settled.error());
  go_on_from(*settled);
  app.calls = logged_->recompute().value_or(app.calls);
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
        const auto shard = open_own(*connection_->local, offer, connection_->rank());
        if (!shard) return refused(shard.error());
        epoch = shard->header().safe_point;
        return {};
      },
      RestoreRequest{}, Restores::replacements);
  if (!accepted) return fail(accepted.error());
  app.report.version = accepted->fresh ? 0 : accepted->snapshot.version.value;
  auto settled = logged_->settle(epoch, app.calls, app.last_version);
  if (!settled) return fail(settled.error());
  go_on_from(*settled);
  // As the replacement does: all ranks have to choose the same levels.
  if (app.auto_levels) app.auto_levels->restored(highest_needed(*accepted), setting_.clock() - start);
  return std::move(settled->again);
}

void SessionImpl::go_on_from(const rollback::LoggedRank::Settled& settled) {
  Application& app = application_;
  const Connection& here = *connection_;
  app.last_version = settled.last_version;
  app.schedule = Schedule(setting_.config.levels, here.life.usable, settled.newest);
  app.auto_levels = AutoLevels::make(setting_.config, here.life.usable, here.life.incarnation,
                                     here.membership->topology.node_count(), here.life.measured);
  app.meant = {};
  if (connection_->pulse) connection_->pulse.emplace(ranks(), setting_.clock);
}

}  // namespace cairn
