// Which nodes of a job are sick, for those who number nodes differently: by the names of the nodes, and by hosts on
// which the session has no node, but a spare may wait. A plain value.
#pragma once

#include <set>
#include <string>

namespace cairn {

struct SickNames {
  std::set<std::string> nodes;
  std::set<std::string> hosts;
  friend bool operator==(const SickNames&, const SickNames&) = default;
};

}  // namespace cairn
