#include "base/background.hpp"

#include <sched.h>

namespace cairn {

// Switches only between the two fair policies (SCHED_OTHER and SCHED_BATCH), because that needs no privilege in either
// direction. A thread that already has another policy is left alone.
Background::Background() : before_(sched_getscheduler(0)) {
  const sched_param none{};
  if (before_ == SCHED_OTHER) sched_setscheduler(0, SCHED_BATCH, &none);
}

Background::~Background() {
  const sched_param none{};
  if (before_ == SCHED_OTHER) sched_setscheduler(0, SCHED_OTHER, &none);
}

}  // namespace cairn
