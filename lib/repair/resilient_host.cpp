// What local rollback needs of this process ([recovery] rollback = lost).
#include <algorithm>
#include <exception>
#include <utility>

#include "opening/session_parts.hpp"
#include "repair/resilient.hpp"
#include "tap/hear.hpp"

namespace cairn {

void Resilient::tell_of_failure() {
  if (tells_ == Tells::by_exception && std::uncaught_exceptions() == 0)
    throw Exception(ErrorKind::rollback, "a process died; roll back to the newest snapshot");
  note_failed_call();
}

rollback::LoggedRank* Resilient::rank() { return session_ != nullptr ? session_->impl->logged() : nullptr; }

void Resilient::look_for_obstacles() { session_->carrier->note_threads(); }
void Resilient::passes_restore() { session_->carrier->passes_restore(); }
void Resilient::passes_safe_point() { session_->carrier->passes_safe_point(); }

bool Resilient::leave_world() {
  const tap::Unheard own;
  vote_.under_way = true;
  return session_->leave_world();
}

Status Resilient::join_world() {
  const tap::Unheard own;
  const auto twin = session_->enter_world(opening());
  if (!twin) return fail(twin.error());
  twin_ = *twin;
  return {};
}

Status Resilient::adopt() {
  const tap::Unheard own;
  return session_->carrier->make_again(session_->impl->ranks(), twin_);
}

Status Resilient::settle_offer() { return session_->impl->restore_lost(); }

void Resilient::go_on() {
  const tap::Unheard own;
  session_->go_on(twin_, opening());
  vote_.restored = std::max(vote_.restored, session_->impl->last_restore().version);
}

Status Resilient::check_messages() { return session_->impl->check_messages(); }

}  // namespace cairn
