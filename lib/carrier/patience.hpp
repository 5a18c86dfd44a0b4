// How a call of a MessageCarrier waits where MPI does not: it looks for failures, sleeps once it has waited for a
// moment, and makes all ranks roll back if none of them can continue, or if a catch-up stands still.
#pragma once

#include <mpi.h>

#include <optional>

#include "carrier/carrier_job.hpp"
#include "comm/backoff.hpp"
#include "replay/long_wait.hpp"

namespace cairn {

class Patience {
 public:
  // `needs`: what it waits for; without it, nobody knows.
  explicit Patience(
      CarrierJob& job, replay::DeadlockCheck::TellNeeds needs = [] { return std::nullopt; });

  // False: a process has died.
  [[nodiscard]] bool looks() {
    if (job_.is_session_thread()) job_.lifeline().watch();
    return !job_.lifeline().is_cut();
  }
  // Waits for a moment. False: a process has died, or all ranks have to roll back.
  [[nodiscard]] bool turn();

 private:
  [[nodiscard]] bool may_go_on();

  CarrierJob& job_;
  replay::DeadlockCheck::TellNeeds needs_;
  Backoff backoff_;
  std::optional<replay::LongWait> wait_;  // once a repair has made it needed
};

// Waits for a message that MPI has. Sleeps: a replacement may compute for long before it comes to it. Returns MPI's
// code.
int wait_patiently(CarrierJob& job, MPI_Request request, MPI_Status* status,
                   const replay::DeadlockCheck::TellNeeds& needs);

}  // namespace cairn
