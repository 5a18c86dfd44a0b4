#include "tap/repair_guard.hpp"

namespace cairn::tap {

RepairGuard*& repair_guard() {
  static constinit RepairGuard* one = nullptr;
  return one;
}

}  // namespace cairn::tap
