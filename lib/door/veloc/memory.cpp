#include "door/veloc/memory.hpp"

#include <utility>

#include <cairn/veloc/veloc/defs.h>

namespace cairn::door {

bool Choice::has(int id) const {
  if (mode == VELOC_CKPT_SOME) return ids.contains(id);
  return mode != VELOC_CKPT_REST || !ids.contains(id);
}

void Groups::protect(const std::string& name, int id, Memory memory) { groups_[name][id] = std::move(memory); }

bool Groups::unprotect(const std::string& name, int id) { return groups_[name].erase(id) > 0; }

void Groups::clear(const std::string& name) { groups_.erase(name); }

const Group& Groups::of(const std::string& name) const {
  static const Group kNone;
  for (const std::string& each : {name, std::string()}) {
    const auto group = groups_.find(each);
    if (group != groups_.end() && !group->second.empty()) return group->second;
  }
  return kNone;
}

}  // namespace cairn::door
