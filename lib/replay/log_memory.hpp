// Memory for the payloads of a log. All but short ones are in blocks that are used again once the log is cut, because
// memory that is new to a process takes several times as long to write.
//
// Not thread-safe. Local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.hpp"

namespace cairn::replay {

// Owns its memory.
class LoggedPayload {
 public:
  LoggedPayload() = default;
  LoggedPayload(std::unique_ptr<std::byte[]> memory, std::size_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  [[nodiscard]] Bytes bytes() const { return {memory_.get(), bytes_}; }
  [[nodiscard]] MutableBytes bytes() { return {memory_.get(), bytes_}; }

 private:
  friend class LogMemory;
  std::unique_ptr<std::byte[]> memory_;
  std::size_t bytes_ = 0;
};

class LogMemory {
 public:
  // Blocks take at most so many bytes, in use or free, unless payloads in use take more.
  explicit LogMemory(std::uint64_t most) : most_(most) {}
  [[nodiscard]] LoggedPayload take(std::size_t bytes);
  void give_back(LoggedPayload payload);

 private:
  using Blocks = std::vector<std::unique_ptr<std::byte[]>>;

  std::uint64_t most_;
  std::uint64_t bytes_ = 0;
  std::unordered_map<std::size_t, Blocks> free_;  // by size
};

}  // namespace cairn::replay
