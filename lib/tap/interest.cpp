#include "tap/interest.hpp"

namespace cairn::tap {
namespace {

std::atomic<std::int32_t>& count() {
  static constinit std::atomic<std::int32_t> all = 0;
  return all;
}

}  // namespace

Interest::Interest() { ++count(); }
Interest::~Interest() { --count(); }

const std::atomic<std::int32_t>& interests() { return count(); }

}  // namespace cairn::tap
