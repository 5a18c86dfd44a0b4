// What a Cairn that was built without local rollback says of [recovery] rollback = lost.
#pragma once

#include "base/error.hpp"

namespace cairn::rollback {

[[nodiscard]] inline Error absent() {
  return {Code::config, "[recovery] rollback = lost: this Cairn was built without local rollback",
          "set rollback = all, or build Cairn with -DCAIRN_LOCAL_ROLLBACK=ON"};
}

}  // namespace cairn::rollback
