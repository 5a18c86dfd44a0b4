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

// How long to wait for others that may have the same error. Those of restore() all ranks have, but some may learn of it
// later.
[[nodiscard]] std::chrono::seconds patience_with(ErrorKind kind);

// Collective over `world`, whose processes all could not open their session, and have the same `error`: the first one
// calls `tell`, and all return after that. Local where a process cannot be reached.
void tell_of_failed_opening(MPI_Comm world, const Exception& error, const std::function<void()>& tell);

}  // namespace cairn
