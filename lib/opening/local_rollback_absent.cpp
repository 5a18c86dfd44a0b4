// A library that is built without local rollback.
#include "opening/local_rollback.hpp"

namespace cairn {

const LocalRollback* local_rollback() { return nullptr; }

}  // namespace cairn
