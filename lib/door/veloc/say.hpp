// Lines for the user, as Cairn's log writes them.
#pragma once

#include <string>

namespace cairn::door {

void say(const std::string& line);

}  // namespace cairn::door
