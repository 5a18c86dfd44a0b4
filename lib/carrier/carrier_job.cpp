#include "carrier/carrier_job.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "logged/obstacle_note.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/place_in.hpp"

namespace cairn {

CarrierJob::CarrierJob(Setting setting, std::shared_ptr<Lifeline> lifeline)
    : setting_(std::move(setting)),
      channels_(setting_.comm, setting_.own, setting_.has_threads),
      lifeline_(std::move(lifeline)) {}

Channel& CarrierJob::channel_of(MPI_Comm comm) const {
  Channel* const channel = find(comm);
  check(channel != nullptr);
  return *channel;
}

std::string CarrierJob::my_name() const { return fmt::format("rank {}", rank_in(setting_.comm)); }

bool CarrierJob::note_caller() {
  if (is_session_thread()) {
    // The messages of this thread are MPI's from now on, too.
    if (has_other_threads_) (void)held_.leave_to_mpi("makes MPI calls in several threads");
    return !has_other_threads_;
  }
  // What it sends is not logged, so a replacement would send it again.
  if (!has_other_threads_.exchange(true) && is_patient()) lifeline_->cut();
  return false;
}

// The rank that has died may be in no communicator of the call.
bool CarrierJob::is_of_failure(int code) const {
  return lifeline_->is_cut() || reports_failure(channels_.session().twin, code);
}

std::optional<int> CarrierJob::after(int code, MPI_Comm comm) {
  if (code == MPI_SUCCESS) return code;
  if (!is_of_failure(code)) return raise(code, comm);
  if (setting_.stays()) return {};
  return code;
}

int CarrierJob::raise(int code, MPI_Comm comm) const {
  const Channel* const channel = find(comm);
  MPI_Comm_call_errhandler(channel == nullptr || channel->twin == MPI_COMM_NULL ? comm : channel->twin, code);
  return code;
}

void CarrierJob::obstructs(const std::string& what, replay::Journal::Until until) {
  rollback::note_obstacle(setting_.journal, setting_.log, Rank{static_cast<std::uint32_t>(rank_in(setting_.comm))},
                          what, until);
}

int CarrierJob::rolls_back(const std::string& why) {
  setting_.journal.obstructs(why, replay::Journal::Until::next_snapshot);
  (void)setting_.stays();
  return MPI_ERR_OTHER;
}

void CarrierJob::goes_on(MPI_Comm twin, MPI_Comm own, std::shared_ptr<Lifeline> lifeline) {
  channels_.session().twin = twin;
  channels_.session().own = own;
  lifeline_ = std::move(lifeline);
}

}  // namespace cairn
