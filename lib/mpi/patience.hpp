// How a call of a MessageCarrier waits where MPI does not: it looks for failures, sleeps once it has waited for a
// moment, and makes all ranks roll back if none of them can continue, or if a catch-up stands still.
#pragma once

#include <optional>
#include <utility>

#include "comm/backoff.hpp"
#include "mpi/message_carrier.hpp"
#include "replay/long_wait.hpp"

namespace cairn {

class MessageCarrier::Patience {
 public:
  // `needs`: what it waits for; without it, nobody knows.
  explicit Patience(
      MessageCarrier& of, replay::DeadlockCheck::TellNeeds needs = [] { return std::nullopt; })
      : of_(of), needs_(std::move(needs)), backoff_({.yields = of.is_patient() ? 100U : 20'000U}) {}

  // False: a process has died.
  [[nodiscard]] bool looks() {
    if (std::this_thread::get_id() == of_.thread_) of_.lifeline_->watch();
    return !of_.lifeline_->is_cut();
  }
  // Waits for a moment. False: a process has died, or all ranks have to roll back.
  [[nodiscard]] bool turn();

 private:
  [[nodiscard]] bool may_go_on();

  MessageCarrier& of_;
  replay::DeadlockCheck::TellNeeds needs_;
  Backoff backoff_;
  std::optional<replay::LongWait> wait_;  // once a repair has made it needed
};

}  // namespace cairn
