// How long torture plays: so many scenarios, or so many minutes, or until the first of both limits is reached.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <ratio>

namespace cairn::torture {

struct Limits {
  static constexpr std::uint64_t kSeeds = 100;  // where no limit is given

  std::optional<std::uint64_t> seeds;
  double minutes = 0;  // 0: no limit

  [[nodiscard]] bool reached(std::uint64_t played, std::chrono::duration<double> time) const {
    const bool is_timed = minutes > 0;
    if (is_timed && time >= std::chrono::duration<double, std::ratio<60>>(minutes)) return true;
    if (seeds) return played >= *seeds;
    return !is_timed && played >= kSeeds;
  }
};

}  // namespace cairn::torture
