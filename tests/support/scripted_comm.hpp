// A Comm on which one member lives and the others are a script: each answer that it would get from them is the next
// piece. For tests of what a member makes of anything that others may say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/comm.hpp"

namespace cairn::test {

class ScriptedComm final : public Comm {
 public:
  ScriptedComm(Peer rank, std::uint32_t size, std::vector<Buffer> script)
      : rank_(rank), size_(size), script_(std::move(script)) {}

  Peer rank() const override { return rank_; }
  std::uint32_t size() const override { return size_; }

  std::unique_ptr<Request> isend(Peer to, Tag tag, Bytes message) override;
  // A piece of another length is cut, or filled up with zeros.
  std::unique_ptr<Request> irecv(Peer from, Tag tag, MutableBytes into) override;
  Result<std::optional<Envelope>> probe(Tag tag) override;
  // The piece is what all others give, as words.
  std::unique_ptr<Request> iallreduce(std::span<std::uint64_t> values, Reduce how) override;
  Result<std::vector<Buffer>> allgather(Bytes mine) override;
  Result<Buffer> broadcast(Bytes mine, Peer root) override;
  Status barrier() override { return {}; }
  Result<std::unique_ptr<Comm>> split(std::optional<std::uint32_t> color, std::uint32_t key) override;
  void on_wait(std::function<bool()> /*work*/) override {}
  void idle(bool /*progress*/) override {}

  // What this member told all the others last.
  [[nodiscard]] const Buffer& told() const { return told_; }

 private:
  // Empty when there is none left.
  [[nodiscard]] Buffer next();

  Peer rank_;
  std::uint32_t size_;
  std::vector<Buffer> script_;
  std::size_t next_ = 0;
  Buffer told_;
};

}  // namespace cairn::test
