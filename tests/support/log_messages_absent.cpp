// Where Cairn is built without local rollback.
#include "support/log_messages.hpp"

namespace cairn::test {

MakeLoggedRank log_messages() { return {}; }

}  // namespace cairn::test
