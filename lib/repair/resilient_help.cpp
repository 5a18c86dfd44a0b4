// Spares help a replacement to recompute the steps of the lost rank ([replay] helpers).
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "mpi/ulfm.hpp"
#include "opening/local_rollback.hpp"
#include "repair/resilient.hpp"

namespace cairn {
namespace {

// Which members have died. MPI is asked at most once per millisecond.
class Deaths {
 public:
  explicit Deaths(MPI_Comm comm) : comm_(comm) {}
  [[nodiscard]] bool has(std::uint32_t member) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_look_) {
      next_look_ = now + std::chrono::milliseconds(1);
      if (ulfm::has_failed(comm_)) dead_ = ulfm::failed_members(comm_);
    }
    return std::ranges::find(dead_, member) != dead_.end();
  }

 private:
  MPI_Comm comm_;
  std::chrono::steady_clock::time_point next_look_{};
  std::vector<std::uint32_t> dead_;
};

}  // namespace

// Otherwise a configured number would have no effect, and nobody would know why.
void Resilient::warn_if_parts_cannot_be_computed() const {
  const std::uint32_t helpers = pool_->config().replay.helpers;
  if (helpers == 1 || compute_part_ || !pool_->is_first() || pool_->state().repairs > 0) return;
  Log(pool_->config().log.level)
      .warning(
          "[replay] helpers = {} has no effect: the program passes no function that computes a part to run() or "
          "cairn_init_with_helpers()",
          helpers);
}

// After a repair: the team of this process, if it is in one.
void Resilient::form_helper_team() {
  helpers_.reset();
  if (!compute_part_ || pool_->helpers() == MPI_COMM_NULL) return;
  auto comm = MpiComm::take(pool_->helpers(), pool_->lifeline());
  if (!comm) return;
  helpers_ = local_rollback()->helpers(
      {.comm = std::move(*comm),
       .is_gone = [deaths = Deaths(pool_->helpers())](std::uint32_t member) mutable { return deaths.has(member); },
       .limit = pool_->config().recovery.limit,
       .compute = compute_part_,
       .me = fmt::format("process {}", this_process().number),
       .log = Log(pool_->config().log.level)});
}

}  // namespace cairn
