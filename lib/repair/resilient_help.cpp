// Spares help a replacement to recompute the steps of the lost rank ([replay] helpers).
#include <algorithm>
#include <chrono>

#include "mpi/ulfm.hpp"
#include "repair/resilient.hpp"
#include "replay/part_work.hpp"
#include "rollback/part_computer.hpp"

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
  if (helpers == 1 || compute_part_ || !pool_->is_first() || pool_->repairs() > 0) return;
  Log(pool_->config().log.level)
      .warning(
          "[replay] helpers = {} has no effect: the program passes no function that computes a part to run() or "
          "cairn_init_with_helpers()",
          helpers);
}

// After a repair: the team of this process, if it is in one.
void Resilient::form_helper_team() {
  helpers_.reset();
  helper_comm_.reset();
  if (!compute_part_ || pool_->helpers() == MPI_COMM_NULL) return;
  auto comm = MpiComm::take(pool_->helpers(), pool_->lifeline());
  if (!comm) return;
  helper_comm_ = std::move(*comm);
  helpers_ = std::make_unique<replay::HelperTeam>(replay::HelperTeam::Setting{
      .comm = *helper_comm_,
      .is_gone = [deaths = Deaths(pool_->helpers())](std::uint32_t member) mutable { return deaths.has(member); },
      .limit = pool_->config().recovery.limit});
}

// In a spare. If a process that computes has died, the wait of this one ends, too.
void Resilient::help() {
  if (!helpers_) return;
  (void)helpers_->help([&](replay::PartWork& work) {
    Log(pool_->config().log.level)
        .debug("process {} recomputes part {} of {} of rank {}", this_process().number, work.part(), work.parts(),
               work.steps().rank);
    return computer_of(compute_part_)(work);
  });
}

decltype(MessageHooks::recompute) Resilient::recompute() {
  if (!helpers_) return {};
  return [this](const replay::LostSteps& steps, const replay::HelperTeam::Split& split) {
    return helpers_->recompute(steps, split, computer_of(compute_part_));
  };
}

}  // namespace cairn
