// One line on a terminal, drawn over and over: how much is done, how fast, and how long the rest takes. It appears
// after two seconds, and only if standard error is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace ckpt_tool {

class ProgressBar {
 public:
  // What takes bytes done so far and in all; empty: nobody would see it. Refers to this.
  [[nodiscard]] std::function<void(std::uint64_t done, std::uint64_t total)> follow();
  void show(std::uint64_t done, std::uint64_t total);
  void clear() const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_{};
};

}  // namespace ckpt_tool
