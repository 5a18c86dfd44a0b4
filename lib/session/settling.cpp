#include "session/settling.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "level/strike.hpp"
#include "session/session_errors.hpp"

namespace cairn {

RestoreRequest request_for(const SessionState& session, const RestoreRequest& chosen) {
  const Application& app = session.application;
  if (session.is_replacement()) return {};
  if (app.is_under_way()) return {chosen.version, chosen.label, false, false};
  const Config::Restart& restart = session.setting.config.restart;
  if (restart.version != 0 || !restart.label.empty())
    return {Version{restart.version}, restart.label, true, restart.version_again};
  return {chosen.version, chosen.label, true, false};
}

Result<Offer> settle_offer(SessionState& session, const std::function<RestoreResult(const Offer&)>& answer,
                           const RestoreRequest& request, Restores who) {
  Application& app = session.application;
  HeadLink& head = session.link();
  head.offer.reset();
  head.restore_done.reset();
  if (auto status = head.send(request); !status) return fail(status.error());
  PulseClosing closing(session.pulse(), Pulse::At::restore);
  const auto answered = [&] {
    closing.go_on();
    return head.offer || head.restore_done;
  };
  std::optional<Offer> accepted;
  const auto closed = [&] { return closing.go_on(); };
  while (true) {
    auto waiting = session.connection->trace.span("wait for head");
    auto heard = head.wait_until(answered, {text_of(request.call)});
    waiting.end();
    if (!heard) return fail(heard.error());
    if (!head.offer) break;
    accepted = std::move(*head.offer);
    head.offer.reset();
    if (who == Restores::all && request.call == SettledCall::restore && may_exchange(session, *accepted)) {
      // Two collectives of the ranks must not be under way at once.
      auto done = head.wait_until(closed, {.call = "restore()", .woken_by = HeadLink::WokenBy::nobody});
      if (!done) return fail(done.error());
    }
    if (auto status = head.send(answer(*accepted)); !status) return fail(status.error());
  }
  // Ranks may have used different numbers, if one of them left out a snapshot.
  app.last_version = std::max(app.last_version, head.restore_done->last_version);
  const std::optional<Error>& error = head.restore_done->error;
  // Otherwise some are in finalize, or have left.
  const bool all_are_here = !error || (error->code != Code::invalid_argument && !head.left);
  if (all_are_here) {
    auto done = head.wait_until(closed, {.call = text_of(request.call), .woken_by = HeadLink::WokenBy::nobody});
    if (!done) return fail(done.error());
  }
  if (!error) return std::move(accepted).value_or(Offer{});
  if (request.call != SettledCall::restore) return fail(*error);
  return fail(undefined_after(session, *error, all_are_here).error());
}

RestoreResult refused(const SessionState& session, const Error& error) {
  RestoreResult result{error, {}, {}};
  if (is_of_source(error.code)) result.damaged.push_back(session.connection->rank());
  return result;
}

bool may_exchange(const SessionState& session, const Offer& offer) {
  return !offer.fresh && session.setting.config.restart.elastic && !session.is_replacement();
}

Status undefined_after(SessionState& session, Error error, bool all_are_here) {
  session.application.undefined = std::move(error);
  leave_mark_of(session, *session.application.undefined);
  if (all_are_here && restart_would_fail(session.application.undefined->code)) (void)session.ranks().barrier();
  return fail(*session.application.undefined);
}

}  // namespace cairn
