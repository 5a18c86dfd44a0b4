// A Comm that counts the bytes of messages that its member sends to some of the others. Collectives are not counted,
// nor is what goes through a Comm that was split from it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "comm/comm.hpp"

namespace cairn {

class CountingComm final : public Comm {
 public:
  // `inner` must outlive it. `counts`: whether messages to that member are counted.
  CountingComm(Comm& inner, std::function<bool(Peer)> counts) : inner_(inner), counts_(std::move(counts)) {}

  [[nodiscard]] std::uint64_t sent_bytes() const { return sent_bytes_; }

  [[nodiscard]] Peer rank() const override { return inner_.rank(); }
  [[nodiscard]] std::uint32_t size() const override { return inner_.size(); }
  [[nodiscard]] std::unique_ptr<Request> isend(Peer to, Tag tag, Bytes message) override;
  [[nodiscard]] std::unique_ptr<Request> irecv(Peer from, Tag tag, MutableBytes into) override;
  [[nodiscard]] Result<std::optional<Envelope>> probe(Tag tag) override { return inner_.probe(tag); }
  [[nodiscard]] std::unique_ptr<Request> iallreduce(std::span<std::uint64_t> values, Reduce how) override;
  [[nodiscard]] Result<std::vector<Buffer>> allgather(Bytes mine) override { return inner_.allgather(mine); }
  [[nodiscard]] Result<Buffer> broadcast(Bytes mine, Peer root) override { return inner_.broadcast(mine, root); }
  [[nodiscard]] Status barrier() override { return inner_.barrier(); }
  [[nodiscard]] Result<std::unique_ptr<Comm>> split(std::optional<std::uint32_t> color, std::uint32_t key) override;
  void on_wait(std::function<bool()> work) override { inner_.on_wait(std::move(work)); }
  void idle(bool progress) override { inner_.idle(progress); }
  [[nodiscard]] std::vector<Peer> dead_members() const override { return inner_.dead_members(); }

 private:
  Comm& inner_;
  std::function<bool(Peer)> counts_;
  std::uint64_t sent_bytes_ = 0;
};

}  // namespace cairn
