// Requests of MPI, and its errors as values.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/comm.hpp"

namespace cairn {

// The text of an MPI error code, after what was being done, as Code::communication.
[[nodiscard]] Error mpi_error(int code, const std::string& doing);

// A point-to-point operation or a collective that was started. One that is destroyed unfinished: a receive
// is cancelled; a send or a collective, which may be under way already, is tested for a few seconds, then given up.
class MpiRequest final : public Request {
 public:
  enum class Kind { send, receive, collective };
  // What is being done, for messages and for clean-up. `buffer_bytes` is the room that a receive has.
  struct Operation {
    Kind kind = Kind::collective;
    const char* what = "collective";
    Peer peer{};
    Tag tag{};
    std::size_t buffer_bytes = 0;
  };

  MpiRequest(MPI_Request request, const Operation& operation) : request_(request), operation_(operation) {}
  ~MpiRequest() override;
  MpiRequest(const MpiRequest&) = delete;
  MpiRequest& operator=(const MpiRequest&) = delete;

  Result<bool> test() override;
  // Ends it as the destructor would. True if MPI needs its buffers no more.
  bool settle();

 private:
  [[nodiscard]] Error error_of(int code, const MPI_Status& status) const;
  // Tests for a few seconds; true once it is over.
  [[nodiscard]] bool linger();

  MPI_Request request_;
  Operation operation_;
  Status outcome_;  // once over
};

// A reduction. MPI works on a copy of the values; if it never finishes, the copy is never freed, and `unfinished` is
// set: the communicator must not be freed either.
class MpiReduction final : public Request {
 public:
  // Starts it. Collective.
  MpiReduction(MPI_Comm comm, std::span<std::uint64_t> values, MPI_Op how,
               std::shared_ptr<std::atomic<bool>> unfinished);
  ~MpiReduction() override;
  MpiReduction(const MpiReduction&) = delete;
  MpiReduction& operator=(const MpiReduction&) = delete;

  Result<bool> test() override;

 private:
  std::span<std::uint64_t> values_;
  std::unique_ptr<std::vector<std::uint64_t>> copy_;
  std::unique_ptr<MpiRequest> request_;
  std::shared_ptr<std::atomic<bool>> unfinished_;
  Status not_started_;
};

[[nodiscard]] bool mpi_is_running();

}  // namespace cairn
