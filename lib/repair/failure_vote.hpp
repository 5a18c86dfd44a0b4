// How an error becomes one line of the log, whichever ranks have it. A rank that has an error cannot know whether the
// others have it too; they then come to the same vote. If they do not, it has the error alone.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <cairn/error.hpp>

#include "mpi/mpi_comm.hpp"

namespace cairn {

class FailureVote {
 public:
  // Collective over `ranks`, which are those that vote.
  explicit FailureVote(MPI_Comm ranks);

  [[nodiscard]] std::uint32_t rank() const { return ranks_->rank().value; }
  [[nodiscard]] std::uint32_t size() const { return ranks_->size(); }

  // Collective, but for ranks that do not fail where others do. If all come within `limit`, the first that has failed
  // calls `tell`, and all return after that: its number, or size() if none has failed. If not all come, nothing; from
  // then on the answer is nothing at once.
  [[nodiscard]] std::optional<std::uint64_t> settle(bool failed, std::chrono::seconds limit,
                                                    const std::function<void()>& tell);

  // For a rank that goes without the others. Local.
  void leave_to_mpi() { ranks_->leave_to_mpi(); }

 private:
  [[nodiscard]] std::optional<std::uint64_t> first_failed(bool failed, std::chrono::seconds limit);

  std::unique_ptr<MpiComm> ranks_;
  bool is_over_ = false;  // somebody did not come, and may come to another vote than the others
};

// Whether restore() fails with errors of this kind, which all application ranks then have. Pure.
[[nodiscard]] bool is_of_restore(ErrorKind kind);
// How long to wait for others that may have the same error. Some ranks may learn later of an error of restore(). Pure.
[[nodiscard]] std::chrono::seconds patience_with(ErrorKind kind);
// Instead of a vote, in a job that repairs itself: a rank other than 0 that has an error of restore() waits here, so
// that it does not end the job before rank 0 has told the error. Local.
void let_rank_0_tell(std::uint32_t rank, ErrorKind kind);

// Collective over `world`, whose processes all could not open their session for an error of this kind: the first one
// calls `tell`, and all return after that. Local where a process cannot be reached.
void tell_of_failed_opening(MPI_Comm world, ErrorKind kind, const std::function<void()>& tell);

}  // namespace cairn
