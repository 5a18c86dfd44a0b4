/* Compiled without unwind tables: no exception can leave it. */
#include "residual.h"

int residual_bare(cairn_session* session, void* argument) {
  const int code = residual_compute(session, argument);
  return code + 0 * cairn_failed(session); /* so that the call above returns here */
}
