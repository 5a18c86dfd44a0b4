// A Comm over MPI. It owns a duplicate of the communicator it is made from, so that its messages never meet
// the application's, and frees it at the end unless MPI is finalized by then, or something may still be under way on
// it: MPI would give its number to the next communicator, which then gets that, or ends the process. Errors of MPI on
// it are returned, not fatal, whatever the application's error handler.
//
// A message that is longer than its buffer is an error, except one that a member sends to itself: Open MPI 4.1 cuts
// that off and reports nothing.
//
// Collectives are started non-blocking and polled with sleeps between, so a head that waits uses almost no processor
// time. With a lifeline, waits and probes look for failures, and after one all calls fail with Code::communication.
// Thread-safe under MPI_THREAD_MULTIPLE, but not with a lifeline; otherwise one thread at a time per process.
#pragma once

#include <mpi.h>

#include <atomic>
#include <climits>
#include <memory>
#include <string>

#include "comm/comm.hpp"
#include "comm/idler.hpp"
#include "mpi/lifeline.hpp"
#include "mpi/self_messages.hpp"

namespace cairn {

// A duplicate that is Cairn's own: the tap does not take it for the application's. Collective.
[[nodiscard]] Result<MPI_Comm> own_duplicate(MPI_Comm comm);

class MpiComm final : public Comm {
 public:
  static constexpr std::size_t kLargestTransfer = INT_MAX;

  // Collective over `comm`, blocking. No single transfer is longer than `largest_transfer` bytes, but for the
  // first 512 of a collective: a longer message is an error, a longer collective goes in rounds (tests make it small).
  [[nodiscard]] static Result<std::unique_ptr<MpiComm>> duplicate(MPI_Comm comm,
                                                                  std::size_t largest_transfer = kLargestTransfer,
                                                                  std::shared_ptr<Lifeline> lifeline = {});
  // The same of a communicator that nobody else uses. Local. The communicator is never freed.
  [[nodiscard]] static Result<std::unique_ptr<MpiComm>> take(MPI_Comm comm, std::shared_ptr<Lifeline> lifeline);
  ~MpiComm() override;
  MpiComm(const MpiComm&) = delete;
  MpiComm& operator=(const MpiComm&) = delete;

  [[nodiscard]] MPI_Comm raw() const { return comm_; }
  // For a member that goes without the others: neither this communicator nor one that was split from it is freed.
  void leave_to_mpi() { *unfinished_ = true; }

  [[nodiscard]] Peer rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t size() const override { return size_; }

  [[nodiscard]] std::unique_ptr<Request> isend(Peer to, Tag tag, Bytes message) override;
  [[nodiscard]] std::unique_ptr<Request> irecv(Peer from, Tag tag, MutableBytes into) override;
  [[nodiscard]] Result<std::optional<Envelope>> probe(Tag tag) override;
  [[nodiscard]] std::unique_ptr<Request> iallreduce(std::span<std::uint64_t> values, Reduce how) override;
  [[nodiscard]] Result<std::vector<Buffer>> allgather(Bytes mine) override;
  [[nodiscard]] Result<Buffer> broadcast(Bytes mine, Peer root) override;
  [[nodiscard]] Status barrier() override;
  // Blocks in MPI_Comm_split.
  [[nodiscard]] Result<std::unique_ptr<Comm>> split(std::optional<std::uint32_t> color, std::uint32_t key) override;

  void on_wait(std::function<bool()> work) override { idler_.set_work(std::move(work)); }
  void idle(bool progress) override;
  // Only with a lifeline.
  [[nodiscard]] std::vector<Peer> dead_members() const override;

 private:
  using Unfinished = std::shared_ptr<std::atomic<bool>>;

  MpiComm(MPI_Comm comm, std::size_t largest_transfer, std::shared_ptr<Lifeline> lifeline, Unfinished unfinished);
  // Takes over `comm` and sets it up.
  static Result<std::unique_ptr<MpiComm>> adopt(MPI_Comm comm, std::size_t largest_transfer,
                                                std::shared_ptr<Lifeline> lifeline, Unfinished unfinished);
  // Fails once the lifeline is cut.
  Status look_for_failures();

  // Waits for a collective that was started with that outcome.
  Status finish(int started, MPI_Request request, const char* what);
  // One round of allgather: each member's next bytes, `counts` of them, appended to `all`.
  Status gather_round(Bytes mine, const std::vector<int>& counts, std::vector<Buffer>& all);

  MPI_Comm comm_;
  Peer rank_{};
  std::uint32_t size_ = 0;
  std::size_t largest_transfer_;
  std::shared_ptr<Lifeline> lifeline_;
  Unfinished unfinished_;  // shared with what is split from it
  Idler idler_;
  std::unique_ptr<SelfMessages> to_self_ = std::make_unique<SelfMessages>();
};

}  // namespace cairn
