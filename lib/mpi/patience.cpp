#include "mpi/patience.hpp"

#include <fmt/format.h>

namespace cairn {

bool MessageCarrier::Patience::turn() {
  if (!looks()) return false;
  (void)of_.advance_what_is_open();
  backoff_.sleep_a_little();
  return std::this_thread::get_id() != of_.thread_ || !of_.is_patient() || may_go_on();
}

bool MessageCarrier::Patience::may_go_on() {
  const Setting& setting = of_.setting_;
  if (!wait_) wait_.emplace(setting.journal, setting.deadlocks, setting.limit);
  const auto verdict = wait_->look(needs_);
  if (verdict == replay::LongWait::Verdict::goes_on) return true;
  setting.journal.obstructs(fmt::format("{} {}", of_.my_name(), wait_->text(verdict, setting.present_call())),
                            replay::Journal::Until::next_snapshot);
  wait_.reset();
  of_.lifeline_->cut();
  return false;
}

}  // namespace cairn
