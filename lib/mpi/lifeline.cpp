#include "mpi/lifeline.hpp"

#include "mpi/ulfm.hpp"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{1};

}  // namespace

void Lifeline::add(MPI_Comm comm) {
  comms_.push_back(comm);
  if (cut_) ulfm::revoke(comm);
}

void Lifeline::remove(MPI_Comm comm) { std::erase(comms_, comm); }

void Lifeline::watch() {
  if (cut_) return;
  const auto now = Clock::now();
  if (now < next_look_) return;
  next_look_ = now + kBetweenLooks;
  if (ulfm::is_revoked(pool_) || ulfm::has_failed(world_)) cut();
}

void Lifeline::cut() {
  if (cut_) return;
  cut_ = true;
  ulfm::revoke(pool_);
  if (world_ != MPI_COMM_NULL) ulfm::revoke(world_);
  for (MPI_Comm comm : comms_) ulfm::revoke(comm);
}

}  // namespace cairn
