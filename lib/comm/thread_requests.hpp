// The requests of a thread communicator. Internal to ThreadWorld.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "comm/thread_state.hpp"

namespace cairn {

class ThreadSend final : public Request {
 public:
  ThreadSend(std::shared_ptr<ThreadGroup> group, Peer self, Peer to, Tag tag, std::shared_ptr<Transfer> transfer)
      : group_(std::move(group)), self_(self), to_(to), tag_(tag), transfer_(std::move(transfer)) {}
  ~ThreadSend() override;
  Result<bool> test() override;

 private:
  std::shared_ptr<ThreadGroup> group_;
  Peer self_;
  Peer to_;
  Tag tag_;
  std::shared_ptr<Transfer> transfer_;
};

class ThreadReceive final : public Request {
 public:
  ThreadReceive(std::shared_ptr<ThreadGroup> group, Peer self, Peer from, Tag tag, std::shared_ptr<Transfer> transfer)
      : group_(std::move(group)), self_(self), from_(from), tag_(tag), transfer_(std::move(transfer)) {}
  ~ThreadReceive() override;
  Result<bool> test() override;

 private:
  std::shared_ptr<ThreadGroup> group_;
  Peer self_;
  Peer from_;
  Tag tag_;
  std::shared_ptr<Transfer> transfer_;
};

// A collective that this member has entered. `values` is where the result of an allreduce goes.
class ThreadCollectiveRequest final : public Request {
 public:
  ThreadCollectiveRequest(std::shared_ptr<ThreadGroup> group, Peer self, std::shared_ptr<ThreadCollective> collective,
                          std::span<std::uint64_t> values = {})
      : group_(std::move(group)), self_(self), collective_(std::move(collective)), values_(values) {}
  Result<bool> test() override;

 private:
  std::shared_ptr<ThreadGroup> group_;
  Peer self_;
  std::shared_ptr<ThreadCollective> collective_;
  std::span<std::uint64_t> values_;
};

}  // namespace cairn
