/* What residual.c and residual_bare.c call of each other. */
#ifndef CAIRN_TESTS_RESIDUAL_H
#define CAIRN_TESTS_RESIDUAL_H

#include <cairn/cairn.h>

int residual_compute(cairn_session* session, void* argument);
/* The same, in a file that is compiled without unwind tables. */
int residual_bare(cairn_session* session, void* argument);

#endif
