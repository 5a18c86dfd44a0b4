// How a process has come to be an application rank. A replacement is one until it has restored, and has taken what
// survivors shipped to it. Then it is a rank like the others, which may have to catch up.
#pragma once

namespace cairn::replay {

enum class Origin { first, replacement };

}  // namespace cairn::replay
