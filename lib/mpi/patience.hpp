// How a call of a MessageCarrier waits where MPI does not: it looks for failures, sleeps once it has waited for a
// moment, and gives up a catch-up that stands still.
#pragma once

#include <chrono>

#include "comm/backoff.hpp"
#include "mpi/message_carrier.hpp"

namespace cairn {

class MessageCarrier::Patience {
 public:
  explicit Patience(MessageCarrier& of) : of_(of), backoff_({.yields = of.is_patient() ? 100U : 20'000U}) {}

  // False: a process has died.
  [[nodiscard]] bool looks() {
    if (std::this_thread::get_id() == of_.thread_) of_.lifeline_->watch();
    return !of_.lifeline_->is_cut();
  }
  // Waits for a moment. False: a process has died.
  [[nodiscard]] bool turn();

 private:
  MessageCarrier& of_;
  Backoff backoff_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace cairn
