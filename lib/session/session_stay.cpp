// The session's part in a repair after which only the lost ranks roll back. Survivors keep their state, and join the
// repaired world inside the call that the failure has struck. What belongs to messages is in rollback/.
#include <utility>

#include "session/offered_shards.hpp"
#include "session/session_impl.hpp"
#include "session/settling.hpp"

namespace cairn {

rollback::LoggedRank::World SessionImpl::world_of_ranks() { return {ranks(), local_store(), state_.connection->trace}; }

Status SessionImpl::check_messages() {
  if (!state_.logged || !state_.logged->is_unchecked()) return {};
  return state_.logged->check_messages([&](const std::function<bool()>& is_over) -> Status {
    const auto waited =
        state_.link().wait_until(is_over, {.call = "snapshot()", .woken_by = HeadLink::WokenBy::nobody});
    return waited ? Status{} : fail(waited.error());
  });
}

void SessionImpl::disconnect() {
  if (!state_.connection) return;
  if (state_.logged) {
    state_.logged->drops(state_.application.meant, [&](LevelId level) { return state_.link().reached(level); });
    state_.logged->leaves();
  }
  state_.application.meant = {};
  open_snapshots_.end(lost_connection());
  state_.link().wake_head();
  state_.connection.reset();
}

Status SessionImpl::reconnect(const Environment& environment) {
  auto connection = connect(environment, state_.setting.config, state_.setting.log);
  if (!connection) return fail(connection.error());
  state_.connection = std::move(*connection);
  state_.application.incarnation = state_.connection->life.incarnation;
  if (state_.logged) state_.logged->joins(world_of_ranks());
  return {};
}

// The next snapshot() call was made by some rank before a failure.
bool SessionImpl::is_past_call() const {
  return state_.logged && state_.logged->is_past(state_.application.calls + (state_.application.decided ? 0 : 1));
}

// What due() answers then, which has begun the call.
LevelSet SessionImpl::levels_of_past_call() const {
  LevelSet levels;
  if (state_.logged->answer_of(state_.application.calls)) levels.add(LevelId::local);
  return levels;
}

void SessionImpl::enter_safe_point() {
  if (state_.logged)
    state_.logged->enters(state_.application.calls, [&](LevelId level) { return state_.link().reached(level); });
}

// A replacement gets what survivors ship to it. All other ranks that have restored begin a new log.
Status SessionImpl::begin_log(const Status& completed) {
  Application& app = state_.application;
  if (!state_.logged->replaces()) return state_.logged->begins(app.calls);
  const auto settled = state_.logged->takes_over(app.calls, app.last_version, completed);
  if (!settled) return fail(settled.error());
  go_on_from(*settled);
  app.calls = state_.logged->recompute().value_or(app.calls);
  return {};
}

Status SessionImpl::restore_lost() {
  Application& app = state_.application;
  std::uint64_t epoch = app.calls;
  const auto start = state_.setting.clock();
  const auto accepted = settle_offer(
      state_,
      [&](const Offer& offer) -> RestoreResult {
        epoch = 0;
        if (offer.fresh) return {};
        const auto shard = open_own(*state_.connection->local, offer, state_.connection->rank());
        if (!shard) return refused(state_, shard.error());
        epoch = shard->header().safe_point;
        return {};
      },
      RestoreRequest{}, Restores::replacements);
  if (!accepted) return fail(accepted.error());
  app.report.version = accepted->fresh ? 0 : accepted->snapshot.version.value;
  auto settled = state_.logged->settle(epoch, app.calls, app.last_version);
  if (!settled) return fail(settled.error());
  go_on_from(*settled);
  // As the replacement does: all ranks have to choose the same levels.
  if (app.auto_levels) app.auto_levels->restored(highest_needed(*accepted), state_.setting.clock() - start);
  return {};
}

void SessionImpl::go_on_from(const rollback::LoggedRank::Settled& settled) {
  Application& app = state_.application;
  const Connection& here = *state_.connection;
  app.last_version = settled.last_version;
  app.schedule = Schedule(state_.setting.config.levels, here.life.usable, settled.newest);
  app.auto_levels = AutoLevels::make(state_.setting.config, here.life.usable, here.life.incarnation,
                                     here.membership->topology.node_count(), here.life.measured);
  app.meant = {};
  if (state_.connection->pulse) state_.connection->pulse.emplace(ranks(), state_.setting.clock);
}

}  // namespace cairn
