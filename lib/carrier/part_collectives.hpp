// Collective calls of a lost rank that a part of it makes: of the messages that the lost rank had received.
#pragma once

#include "rollback/lost_work.hpp"
#include "tap/collectives.hpp"

namespace cairn {

// Throws what LostCollectives throws.
void make_in_part(rollback::LostWork& work, const tap::collectives::Any& call);

}  // namespace cairn
