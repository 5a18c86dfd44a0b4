// Repair inside the calls of survivors, after which only the lost ranks roll back ([recovery] rollback = lost).
//
// All surviving application ranks do the same, wherever the failure has struck them. They vote that the session is over
// (Pool::all_ranks), meet, and join the repaired world. Then they vote whether all of them can continue. A rank that
// cannot, or whose call has no way to wait, unwinds instead, and all ranks roll back.
#include <exception>
#include <memory>

#include <fmt/format.h>

#include "opening/session_parts.hpp"
#include "repair/resilient.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

bool is_unchecked(const rollback::LoggedRank* rank) { return rank != nullptr && rank->is_unchecked(); }

}  // namespace

bool Resilient::stays_in_call() {
  if (session_ != nullptr && stay(*session_)) return true;
  if (tells_ == Tells::by_exception && std::uncaught_exceptions() == 0)
    throw Exception(ErrorKind::rollback, "a process died; roll back to the newest snapshot");
  note_failed_call();
  return false;
}

bool Resilient::stay(Session::Mpi& session) {
  const tap::Unheard own;
  if (left_ == Left::met) return false;
  pool_->lifeline()->cut();
  note_obstacle(session);
  if (session.impl->logged() == nullptr || !obstacle_.text.empty()) return false;
  under_way_ = true;
  const bool is_still = session.leave_world();
  if (!is_still) obstacle_ = {"MPI has not ended the messages that were under way", Pool::Reason::known};
  if (left_ == Left::no) (void)pool_->all_ranks(false);
  pool_->can_stay(is_still);
  if (!session.impl->logged()->is_unchecked()) pool_->all_have_caught_up();
  left_ = Left::met;
  meet();
  if (!pool_->all_stay()) return false;
  left_ = Left::no;
  const Status joined = session.enter_world(opening());
  if (joined) {
    pool_->went_on_from(session.impl->last_restore().version);
  } else {
    obstacle_ = joined.error().code == Code::communication
                    ? Obstacle{"a process died before all ranks had left restore()", Pool::Reason::seen}
                    : Obstacle{joined.error().text(), Pool::Reason::known};
    // The others may wait for this rank alone.
    pool_->lifeline()->cut();
  }
  return settled(joined.has_value());
}

// Without rollback = lost, all roll back as a rule, and nobody needs a reason.
void Resilient::note_obstacle(Session::Mpi& session) {
  rollback::LoggedRank* const logged = session.impl->logged();
  if (logged == nullptr || !obstacle_.text.empty()) return;
  if (session.carrier) session.carrier->note_threads();
  const auto why = logged->why_all_roll_back();
  if (why) obstacle_ = {*why, logged->journal().obstacle() ? Pool::Reason::known : Pool::Reason::seen};
}

// The last step: from here on a failure is another one. Collective among the application ranks.
bool Resilient::settled(bool ok) {
  if (pool_->all_ranks(ok)) return true;
  left_ = Left::voted;
  return false;
}

// For an agreement of all ranks. A replacement may never come to it, if it has exchanged other messages than the dead
// rank.
std::function<void()> Resilient::impatience(Session::Mpi& session) {
  if (!is_unchecked(session.impl->logged())) return {};
  const auto wait = std::make_shared<replay::LongWait>(session.impl->logged()->begin_wait());
  return [this, &session, wait] {
    if (pool_->lifeline()->is_cut()) return;
    const auto verdict = wait->look([] { return replay::DeadlockCheck::Needs{}; });
    if (verdict == replay::LongWait::Verdict::goes_on) return;
    session.impl->obstruct(wait->text(verdict, "finalize()"), rollback::Until::next_snapshot);
    pool_->lifeline()->cut();
  };
}

// An exception has found a failure, too.
bool Resilient::messages_match(Session::Mpi& session) {
  try {
    return session.impl->check_messages().has_value();
  } catch (const Exception&) {
    return false;
  }
}

// Whether all application ranks have finished, as often as failures send some of them back. A rank that has finished
// keeps its log until then.
bool Resilient::all_finished(Session::Mpi& session) {
  while (true) {
    if (session.impl->logged() != nullptr && session.impl->logged()->replaces()) {
      // The others wait for it, and it will not come.
      obstacle_ = {fmt::format("rank {} has finished after a failure without restore()", session.impl->rank().value),
                   Pool::Reason::known};
      pool_->lifeline()->cut();
    }
    bool all = pool_->all_ranks(!pool_->lifeline()->is_cut(), impatience(session));
    if (all && is_unchecked(session.impl->logged())) all = pool_->all_ranks(messages_match(session));
    if (all) return true;
    left_ = Left::voted;
    if (!stay(session)) return false;
  }
}

}  // namespace cairn
