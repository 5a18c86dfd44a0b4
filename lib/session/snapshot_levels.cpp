#include "session/snapshot_levels.hpp"

#include <utility>

#include "session/stop_signal.hpp"

namespace cairn {
namespace {

bool is_asked_to_stop(const Config::Restart& restart) {
  return restart.stop_signal && StopSignal::seen(*restart.stop_signal);
}

// Of a snapshot that is taken because a log will soon be full.
LevelId level_that_cuts_the_log(SessionState& session) {
  const LevelId lowest = level_that_cuts_logs(session.setting.config, session.connection->life.usable);
  session.logged->note_full_log(lowest);
  return lowest;
}

// Application rank 0 writes the log and informs its head, which keeps the record for the next life.
Status report_auto_levels(SessionState& session) {
  if (session.connection->rank().value != 0) return {};
  if (const auto news = session.application.auto_levels->take_news()) session.setting.log.info("{}", *news);
  const auto record = session.application.auto_levels->take_record();
  return record ? session.link().send(*record) : Status{};
}

// From the call's number, and from what all agreed on.
Result<LevelSet> levels_by_rule(SessionState& session) {
  LevelSet due = session.application.schedule.due(++session.application.calls);
  if (auto status = all_take_part(session); !status) return fail(status.error());
  if (session.pulse() == nullptr) return due;
  auto span = session.connection->trace.span("agree on time");
  (void)take_promotions(session);
  Result<bool> ready = true;
  const auto is_ready = [&] { return !(ready = session.pulse()->ready()) || *ready || !all_take_part(session); };
  if (auto heard = session.wait_until(is_ready, "snapshot()", HeadLink::WokenBy::nobody); !heard)
    return fail(heard.error());
  if (!ready) return fail(ready.error());
  if (!*ready) return fail(all_take_part(session).error());
  auto beat = session.pulse()->call([&] {
    const auto log = session.logged ? session.logged->note_log_growth() : rollback::LoggedRank::LogGrowth{};
    return Pulse::Mine{
        .stop = is_asked_to_stop(session.setting.config.restart),
        .log_fills = log.fills,
        .logged = log.logged_millionths,
        .asked_for = session.link().take_snapshot_now(),
        .costs = session.application.auto_levels ? session.application.auto_levels->meter().costs() : RankCosts{},
    };
  });
  if (!beat) return fail(beat.error());
  if (!*beat) {
    span.drop();
    return due;
  }
  span.end();
  due.add(session.application.schedule.due_by_time((*beat)->elapsed));
  if ((*beat)->log_fills) due.add(level_that_cuts_the_log(session));
  if ((*beat)->asked_for) due.add(*(*beat)->asked_for);
  if (session.application.auto_levels) {
    due.add(session.application.auto_levels->due(**beat));
    if (auto status = report_auto_levels(session); !status) return fail(status.error());
  }
  if ((*beat)->stop && !session.application.stop) {
    session.application.stop = true;
    if (session.logged) session.logged->note_stop_signal();
    const LevelId last = last_level(session.connection->life.usable);
    due.add(last);
    if (session.connection->rank().value == 0)
      session.setting.log.info("stop signal received: this snapshot will be written to L{}, and should_stop() is true",
                               static_cast<int>(last));
  }
  return due;
}

}  // namespace

LevelId last_level(LevelSet usable) { return usable.has(LevelId::global) ? LevelId::global : LevelId::local; }

Status all_take_part(const SessionState& session) {
  const auto& left = session.link().left;
  if (!left || session.application.calls <= left->calls) return {};
  return fail(error_of(*left).in("no snapshot can be completed"));
}

Result<LevelSet> levels_due(SessionState& session) {
  return levels_by_rule(session).map([&](LevelSet due) { return session.application.schedule.with_first(due); });
}

std::chrono::microseconds take_promotions(SessionState& session) {
  std::chrono::microseconds sum{0};
  for (const Reached& promotion : std::exchange(session.link().promotions, {})) {
    sum += promotion.took;
    if (session.application.auto_levels)
      session.application.auto_levels->meter().promotion_took(promotion.level, promotion.took);
  }
  return sum;
}

}  // namespace cairn
