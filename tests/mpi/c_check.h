/* What tests of the C API over real ranks check with. A check that fails ends the job, since the other ranks would
 * wait. */
#ifndef CAIRN_TESTS_MPI_C_CHECK_H
#define CAIRN_TESTS_MPI_C_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include <cairn/cairn.h>

static void check(int good, const char* file, int line, const char* text) {
  if (good) return;
  fprintf(stderr, "%s:%d: %s; last error: %s\n", file, line, text, cairn_error_text());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(condition) check((condition) ? 1 : 0, __FILE__, __LINE__, #condition)

/* The call failed with `code`, and its text says `part`. */
static void check_error(int got, int code, const char* part, const char* file, int line) {
  check(got == code, file, line, "another code was expected");
  check(strstr(cairn_error_text(), part) != NULL, file, line, part);
}
#define CHECK_ERROR(call, code, part) check_error((call), (code), (part), __FILE__, __LINE__)

#endif
