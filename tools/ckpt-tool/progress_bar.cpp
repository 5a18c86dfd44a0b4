#include "progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "text.hpp"

namespace ckpt_tool {

std::function<void(std::uint64_t, std::uint64_t)> ProgressBar::follow() {
  if (::isatty(STDERR_FILENO) != 1) return {};
  return [this](std::uint64_t done, std::uint64_t total) { show(done, total); };
}

void ProgressBar::show(std::uint64_t done, std::uint64_t total) {
  constexpr std::chrono::seconds kAfter{2};
  constexpr std::chrono::milliseconds kBetween{100};
  const auto now = Clock::now();
  if (now - start_ < kAfter || now - shown_ < kBetween || total == 0) return;
  shown_ = now;
  const double rate = static_cast<double>(done) / std::chrono::duration<double>(now - start_).count();
  const double left = static_cast<double>(total - std::min(done, total)) / std::max(rate, 1.0);
  fmt::print(stderr, "\r\033[K{:3}%  {} of {}, {}/s, {} left", done * 100 / total, size_text(done), size_text(total),
             size_text(static_cast<std::uint64_t>(rate)), age_text(left));
  std::fflush(stderr);
}

void ProgressBar::clear() const {
  if (shown_ != Clock::time_point{}) fmt::print(stderr, "\r\033[K");
}

}  // namespace ckpt_tool
