// Names of hosts. Pure.
#pragma once

#include <string_view>
#include <utility>

namespace cairn {

// Whether two names may be of one host: equal, or one is the other without its domain.
[[nodiscard]] inline bool same_host(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return b.starts_with(a) && (a.size() == b.size() || b[a.size()] == '.');
}

}  // namespace cairn
