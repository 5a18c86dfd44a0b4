// The application's requests of messages that a carrier makes: which message each is for. The application holds a
// stand-in in place of MPI's own request, which a repair may replace. A message keeps its place in memory until its
// request is gone.
//
// Any thread may add, find and end requests; each message belongs to the thread that made its call.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "carrier/pending_message.hpp"
#include "carrier/stand_in_requests.hpp"
#include "mpi/call_lock.hpp"

namespace cairn {

class RequestBook {
 public:
  explicit RequestBook(bool has_threads) : lock_(has_threads) {}

  // MPI_REQUEST_NULL: MPI has no more requests.
  [[nodiscard]] MPI_Request add(const PendingMessage& message);
  // Adds a persistent request, which is not active.
  [[nodiscard]] MPI_Request add_prepared(Channel& channel, std::shared_ptr<const PreparedMessage> prepared);
  // Null: it is not a carrier's.
  [[nodiscard]] PendingMessage* find(MPI_Request request) const;
  [[nodiscard]] bool has_any(std::span<const MPI_Request> requests) const;

  // A persistent request becomes active, with this message. Requires: `request` is one that is not active.
  void start(PendingMessage& request, PendingMessage begun);
  // A call takes away a request that is complete: it becomes MPI_REQUEST_NULL. A persistent one stays, and is not
  // active any more. Requires: find(request).
  void end(MPI_Request& request);
  // Takes away a request for good. Requires: find(request).
  void remove(MPI_Request& request);

  // How many are active.
  [[nodiscard]] std::size_t active() const;
  // Whether a request is of that communicator.
  [[nodiscard]] bool has_of(std::uint64_t channel) const;
  // All messages, in the order in which they were posted.
  [[nodiscard]] std::vector<PendingMessage*> in_order() const;

 private:
  [[nodiscard]] PendingMessage& of(MPI_Request request) const;

  CallLock lock_;
  std::unordered_map<MPI_Request, std::unique_ptr<PendingMessage>> messages_;
  StandInRequests stand_ins_;
  std::uint64_t posted_ = 0;
};

}  // namespace cairn
