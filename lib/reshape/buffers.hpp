// Buffers that are used again: fresh pages take longer than what is copied into them. Belongs to one thread.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/bytes.hpp"

namespace cairn::reshape {

class Buffers {
 public:
  // One of at least so many bytes, with any values.
  [[nodiscard]] Buffer take(std::size_t bytes) {
    const auto fits = std::ranges::find_if(free_, [bytes](const Buffer& one) { return one.size() >= bytes; });
    if (fits == free_.end()) {
      if (!free_.empty()) free_.pop_back();
      return Buffer(bytes);
    }
    std::swap(*fits, free_.back());
    Buffer buffer = std::move(free_.back());
    free_.pop_back();
    return buffer;
  }
  void give_back(Buffer buffer) { free_.push_back(std::move(buffer)); }

 private:
  std::vector<Buffer> free_;
};

}  // namespace cairn::reshape
