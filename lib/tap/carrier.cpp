#include "tap/carrier.hpp"

namespace cairn::tap {

Carrier*& carrier() {
  static constinit Carrier* one = nullptr;
  return one;
}

}  // namespace cairn::tap
