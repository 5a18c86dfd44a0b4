#include "repair/failure_vote.hpp"

#include <thread>

#include "session/exception.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

struct Vote {
  std::uint64_t first = 0;
  std::unique_ptr<Request> request;
};

}  // namespace

FailureVote::FailureVote(MPI_Comm ranks) {
  const tap::Unheard unheard;
  ranks_ = value_or_throw(MpiComm::duplicate(ranks));
}

std::optional<std::uint64_t> FailureVote::settle(bool failed, std::chrono::seconds limit,
                                                 const std::function<void()>& tell) {
  if (is_over_) return {};
  const auto first = first_failed(failed, limit);
  if (first && *first == rank()) tell();
  // Whoever returns may end the job.
  if (first && *first < size()) (void)first_failed(true, limit);
  return first;
}

std::optional<std::uint64_t> FailureVote::first_failed(bool failed, std::chrono::seconds limit) {
  const tap::Unheard unheard;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  auto vote = std::make_unique<Vote>();
  vote->first = failed ? rank() : size();
  vote->request = ranks_->iallreduce({&vote->first, 1}, Reduce::min);
  auto done = vote->request->test();
  for (; done && !*done && std::chrono::steady_clock::now() < deadline; done = vote->request->test())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (done && *done) return vote->first;
  // A request that is destroyed waits for the others, and MPI may still write the result.
  is_over_ = true;
  ranks_->leave_to_mpi();
  (void)vote.release();
  return {};
}

std::chrono::seconds patience_with(ErrorKind kind) {
  const bool of_restore = kind == ErrorKind::mismatch || kind == ErrorKind::unrecoverable;
  return std::chrono::seconds(of_restore ? 5 : 1);
}

void tell_of_failed_opening(MPI_Comm world, const Exception& error, const std::function<void()>& tell) {
  const tap::Unheard unheard;
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  if (rank == 0) tell();
  if (error.kind() != ErrorKind::communication) MPI_Barrier(world);
}

}  // namespace cairn
