// A Comm that fails from the n-th operation on, as if its member had died there. It delays and reorders
// nothing. One plan may be shared by many Comms, so that a sweep counts the operations of a whole cluster.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "comm/comm.hpp"

namespace cairn::test {

// Thread-safe, once the fields are set.
struct CommFaultPlan {
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t first_failing = kNever;    // operations are counted from 0
  std::function<void()> on_first_failure;  // for instance to kill the member, so that nobody waits for it
  std::vector<Peer> dead;                  // what all members report
  std::atomic<std::uint64_t> operations{0};
  std::atomic<bool> failing{false};

  // Counts one operation; fails, naming it, if it is not to succeed.
  [[nodiscard]] Status next(const std::string& operation);
  // Fails once any operation has.
  [[nodiscard]] Status still_working(const std::string& operation) const;
};

class FaultyComm final : public Comm {
 public:
  // `inner` stays the caller's.
  FaultyComm(Comm& inner, std::shared_ptr<CommFaultPlan> plan) : inner_(inner), plan_(std::move(plan)) {}
  FaultyComm(std::unique_ptr<Comm> inner, std::shared_ptr<CommFaultPlan> plan)
      : owned_(std::move(inner)), inner_(*owned_), plan_(std::move(plan)) {}

  [[nodiscard]] Peer rank() const override { return inner_.rank(); }
  [[nodiscard]] std::uint32_t size() const override { return inner_.size(); }
  [[nodiscard]] std::unique_ptr<Request> isend(Peer to, Tag tag, Bytes message) override;
  [[nodiscard]] std::unique_ptr<Request> irecv(Peer from, Tag tag, MutableBytes into) override;
  [[nodiscard]] Result<std::optional<Envelope>> probe(Tag tag) override;
  [[nodiscard]] std::unique_ptr<Request> iallreduce(std::span<std::uint64_t> values, Reduce how) override;
  [[nodiscard]] Result<std::vector<Buffer>> allgather(Bytes mine) override;
  [[nodiscard]] Result<Buffer> broadcast(Bytes mine, Peer root) override;
  [[nodiscard]] Status barrier() override;
  // What is split from a faulty Comm is one, under the same plan.
  [[nodiscard]] Result<std::unique_ptr<Comm>> split(std::optional<std::uint32_t> color, std::uint32_t key) override;
  void on_wait(std::function<bool()> work) override { inner_.on_wait(std::move(work)); }
  void idle(bool progress) override { inner_.idle(progress); }
  [[nodiscard]] std::vector<Peer> dead_members() const override { return plan_->dead; }

 private:
  std::unique_ptr<Comm> owned_;
  Comm& inner_;
  std::shared_ptr<CommFaultPlan> plan_;
};

}  // namespace cairn::test
