/* The same as one_error.cpp, in C. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/cairn.h>

static void check(int code) {
  if (code != CAIRN_OK) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

int main(int argc, char** argv) {
  static double state[1000];
  cairn_session* session = NULL;
  MPI_Init(&argc, &argv);
  const char* mistake = argc > 1 ? argv[1] : "";
  const int code = cairn_init(MPI_COMM_WORLD, "job.ini", &session);
  if (code != CAIRN_OK) {
    MPI_Finalize();
    return code == CAIRN_HEAD ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  check(cairn_protect(session, strcmp(mistake, "region") == 0 ? "other" : "state", state, CAIRN_DOUBLE, 1000));
  check(cairn_restore(session));
  if (strcmp(mistake, "usage") == 0) check(cairn_unprotect(session, "nothing"));
  for (int step = 0; step < 5; ++step) check(cairn_snapshot(session, NULL));
  check(cairn_wait(session, CAIRN_L1));
  if (strcmp(mistake, "die") == 0) abort();
  check(cairn_finalize(&session));
  MPI_Finalize();
  return EXIT_SUCCESS;
}
