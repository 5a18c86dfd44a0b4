#include "door/veloc/say.hpp"

#include <cstdio>

namespace cairn::door {

void say(const std::string& line) { (void)std::fputs(("cairn: " + line + "\n").c_str(), stderr); }

}  // namespace cairn::door
