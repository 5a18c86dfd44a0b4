#include "repair/failure_vote.hpp"

#include <thread>

#include "session/exception.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

struct Ballot {
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
  const auto first = first_failed(failed, limit);
  if (!first || *first == size()) return first;
  // A rank that stopped waiting has still voted, and its vote may complete the reduction now. It must not join another
  // vote.
  if (!first_failed(failed, limit)) return {};
  if (*first == rank()) tell();
  // A rank that returns may end the job.
  (void)first_failed(failed, limit);
  return first;
}

std::optional<std::uint64_t> FailureVote::first_failed(bool failed, std::chrono::seconds limit) {
  if (is_over_) return {};
  const tap::Unheard unheard;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  auto vote = std::make_unique<Ballot>();
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

bool is_of_restore(ErrorKind kind) { return kind == ErrorKind::mismatch || kind == ErrorKind::unrecoverable; }

std::chrono::seconds patience_with(ErrorKind kind) { return std::chrono::seconds(is_of_restore(kind) ? 5 : 1); }

void let_rank_0_tell(std::uint32_t rank, ErrorKind kind) {
  if (rank != 0 && is_of_restore(kind)) std::this_thread::sleep_for(patience_with(kind));
}

void report_failed_opening(MPI_Comm world, ErrorKind kind, const std::function<void()>& tell) {
  const tap::Unheard unheard;
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  if (rank == 0) tell();
  if (kind != ErrorKind::communication) MPI_Barrier(world);
}

}  // namespace cairn
