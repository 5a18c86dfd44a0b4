// Local rollback for sessions of tests, as opening/local_rollback gives it to those of programs.
#pragma once

#include "session/environment.hpp"

namespace cairn::test {

// Empty: Cairn was built without it.
[[nodiscard]] MakeLoggedRank log_messages();

}  // namespace cairn::test
