#include "session/session_state.hpp"

#include <fmt/format.h>

namespace cairn {

Status SessionState::usable_now(const char* call) const {
  if (!connection) return fail(lost_connection());
  if (!finalized) return {};
  return fail(Code::invalid_argument, fmt::format("{} was called after finalize", call));
}

Status SessionState::wait_until(const std::function<bool()>& done, const std::string& call,
                                HeadLink::WokenBy woken_by) const {
  const auto wait = [&](const std::function<bool()>& is_over) -> Status {
    const auto waited = link().wait_until(is_over, {.call = call, .woken_by = woken_by});
    return waited ? Status{} : fail(waited.error());
  };
  return logged && logged->is_unchecked() ? logged->wait_patiently(done, call, wait) : wait(done);
}

}  // namespace cairn
