// The version of Cairn: CAIRN_VERSION and its parts are that of the headers, version() is that of the library which the
// program is linked with.
#pragma once

#include <cairn/version.h>

namespace cairn {

// One number: CAIRN_VERSION as the library was compiled with it. Local.
[[nodiscard]] int version();

}  // namespace cairn
