#include "base/duration_text.hpp"

#include <cmath>

#include <fmt/format.h>

namespace cairn {

std::string duration_text(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 60 * kMinute;
  constexpr double kDay = 24 * kHour;
  constexpr double kYear = 365.25 * kDay;
  if (std::isinf(seconds)) return "never";
  if (seconds == 0) return "0 s";
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1000);
  if (seconds < 2 * kMinute) return fmt::format("{:.3g} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.3g} min", seconds / kMinute);
  if (seconds < 2 * kDay) return fmt::format("{:.3g} h", seconds / kHour);
  if (seconds < 2 * kYear) return fmt::format("{:.3g} d", seconds / kDay);
  return fmt::format("{:.4g} y", seconds / kYear);
}

}  // namespace cairn
