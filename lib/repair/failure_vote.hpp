// Reports an error in one line of the log, however many ranks have it. A rank that has an error cannot know whether the
// other ranks have it too. If they do, they join the same vote; if they do not, the rank has the error alone.
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
  // `ranks`: the members of the vote. Collective over them.
  explicit FailureVote(MPI_Comm ranks);

  [[nodiscard]] std::uint32_t rank() const { return ranks_->rank().value; }
  [[nodiscard]] std::uint32_t size() const { return ranks_->size(); }

  // Collective, except that a rank without the error may stay away. If all ranks join within `limit`, the first failed
  // rank calls `tell`; all ranks return after that, with its number, or size() if none failed. Otherwise returns
  // nothing, and all later votes return nothing at once.
  [[nodiscard]] std::optional<std::uint64_t> settle(bool failed, std::chrono::seconds limit,
                                                    const std::function<void()>& tell);

  // For a rank that continues without the others. Local.
  void leave_to_mpi() { ranks_->leave_to_mpi(); }

 private:
  [[nodiscard]] std::optional<std::uint64_t> first_failed(bool failed, std::chrono::seconds limit);

  std::unique_ptr<MpiComm> ranks_;
  bool is_over_ = false;  // a rank did not join; it may later join another vote than the others
};

// Whether an error of this kind comes from restore(), so that all application ranks have it. Pure.
[[nodiscard]] bool is_of_restore(ErrorKind kind);
// How long to wait for other ranks that may have the same error. Some ranks get an error of restore() later. Pure.
[[nodiscard]] std::chrono::seconds patience_with(ErrorKind kind);
// Replaces the vote in a job that repairs itself. A rank other than 0 with an error of restore() waits here. So it does
// not end the job before rank 0 has reported the error. Local.
void let_rank_0_tell(std::uint32_t rank, ErrorKind kind);

// All processes of `world` failed to open their session with an error of this kind: the first one calls `tell`, and all
// return after that. Collective over `world`; local if a process cannot be reached.
void report_failed_opening(MPI_Comm world, ErrorKind kind, const std::function<void()>& tell);

}  // namespace cairn
