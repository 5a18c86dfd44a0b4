#include "base/background.hpp"

#include <sched.h>

namespace cairn {

// Only between the two fair policies, which needs no privilege either way; a thread that somebody gave another is left
// alone.
Background::Background() : before_(sched_getscheduler(0)) {
  const sched_param none{};
  if (before_ == SCHED_OTHER) sched_setscheduler(0, SCHED_BATCH, &none);
}

Background::~Background() {
  const sched_param none{};
  if (before_ == SCHED_OTHER) sched_setscheduler(0, SCHED_OTHER, &none);
}

}  // namespace cairn
