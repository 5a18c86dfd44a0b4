#include "tap/window_guard.hpp"

namespace cairn::tap {

WindowGuard*& window_guard() {
  static constinit WindowGuard* one = nullptr;
  return one;
}

}  // namespace cairn::tap
