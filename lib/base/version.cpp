#include <cairn/version.hpp>

namespace cairn {

int version() { return CAIRN_VERSION; }

}  // namespace cairn
