#include "carrier/patience.hpp"

#include <utility>

#include <fmt/format.h>

namespace cairn {

Patience::Patience(CarrierJob& job, replay::DeadlockCheck::TellNeeds needs)
    : job_(job), needs_(std::move(needs)), backoff_({.yields = job.is_patient() ? 100U : 20'000U}) {}

bool Patience::turn() {
  if (!looks()) return false;
  (void)job_.held_receives().advance();
  backoff_.sleep_a_little();
  return !job_.is_session_thread() || !job_.is_patient() || may_go_on();
}

bool Patience::may_go_on() {
  const CarrierJob::Setting& setting = job_.setting();
  if (!wait_) wait_.emplace(setting.journal, setting.deadlocks, setting.limit);
  const auto verdict = wait_->look(needs_);
  if (verdict == replay::LongWait::Verdict::goes_on) return true;
  setting.journal.obstructs(fmt::format("{} {}", job_.my_name(), wait_->text(verdict, setting.present_call())),
                            replay::Journal::Until::next_snapshot);
  wait_.reset();
  job_.lifeline().cut();
  return false;
}

int wait_patiently(CarrierJob& job, MPI_Request request, MPI_Status* status,
                   const replay::DeadlockCheck::TellNeeds& needs) {
  Patience patience(job, needs);
  while (true) {
    int done = 0;
    const int code = MPI_Test(&request, &done, status);
    if (code != MPI_SUCCESS || done != 0) return code;
    // After a failure MPI still ends it, one way or the other.
    if (!patience.turn()) return MPI_Wait(&request, status);
  }
}

}  // namespace cairn
