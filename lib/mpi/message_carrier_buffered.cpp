// Messages that a carrier sends from memory of its own: those of MPI_Bsend, MPI_Ibsend and MPI_Bsend_init, and those
// that a repair sends again. A failure ends them: a repair sends those again that their receivers do not have.
#include <algorithm>
#include <iterator>
#include <utility>

#include "comm/backoff.hpp"
#include "mpi/copied_message.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/message_carrier.hpp"
#include "mpi/mpi_request.hpp"
#include "mpi/patience.hpp"
#include "tap/hear.hpp"

namespace cairn {

// MPI sends a copy, since the application may change its buffer at once. That of the log may be in a file.
int MessageCarrier::begin_buffered(const tap::OutgoingMessage& m) {
  look_at_sends();
  auto copied = CopiedMessage::of(m);
  if (!copied) return m.count < 0 ? MPI_ERR_COUNT : MPI_ERR_TYPE;
  MPI_Request real = MPI_REQUEST_NULL;
  const int code = begin(copied->message, &real);
  const auto guard = lock_.hold();
  if (code == MPI_SUCCESS) under_way_.push_back({real, std::move(copied->bytes), true});
  return code;
}

// Forgets those that MPI has sent.
void MessageCarrier::look_at_sends() {
  const tap::Unheard own;
  const FailureHandler::Quiet quiet;
  const auto guard = lock_.hold();
  std::erase_if(under_way_, [](UnderWay& one) {
    int over = 0;
    return MPI_Test(&one.real, &over, MPI_STATUS_IGNORE) != MPI_SUCCESS || over != 0;
  });
}

bool MessageCarrier::has_buffered() {
  look_at_sends();
  const auto guard = lock_.hold();
  return std::ranges::any_of(under_way_, &UnderWay::buffered);
}

// It does not wait for what a repair sends again: a replacement may receive that only after later calls of this rank.
int MessageCarrier::finish_buffered() {
  Patience patience(job_);
  while (has_buffered())
    if (!patience.turn() && !job_.stays()) return MPI_ERR_OTHER;
  return MPI_SUCCESS;
}

// What MPI has not sent by then it may read until the process ends.
void MessageCarrier::end_sends(Clock::time_point until) {
  if (under_way_.empty()) return;
  Backoff backoff;
  if (mpi_is_running())
    for (look_at_sends(); !under_way_.empty() && Clock::now() < until; look_at_sends()) backoff.sleep_a_little();
  static auto& kept = *new std::vector<UnderWay>;
  std::ranges::move(under_way_, std::back_inserter(kept));
  under_way_.clear();
}

}  // namespace cairn
