#include "base/drawn_number.hpp"

#include <random>

namespace cairn {

std::uint64_t drawn_number() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

}  // namespace cairn
