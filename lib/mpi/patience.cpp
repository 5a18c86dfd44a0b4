#include "mpi/patience.hpp"

#include <fmt/format.h>

namespace cairn {

bool MessageCarrier::Patience::turn() {
  if (!looks()) return false;
  (void)of_.advance_what_is_open();
  backoff_.sleep_a_little();
  const auto waited = std::chrono::steady_clock::now() - began_;
  if (!of_.setting_.journal.is_unchecked_replacement() || waited < of_.setting_.limit) return true;
  began_ = std::chrono::steady_clock::now();
  of_.setting_.journal.obstructs(
      fmt::format("{} has waited for {} s since it rolled back ([recovery] limit)", of_.my_name(),
                  std::chrono::duration_cast<std::chrono::seconds>(waited).count()),
      replay::Journal::Until::next_snapshot);
  of_.lifeline_->cut();
  return false;
}

}  // namespace cairn
