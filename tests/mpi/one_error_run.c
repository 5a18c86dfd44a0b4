/* The same as one_error.c, with cairn_run. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/cairn.h>

static int compute(cairn_session* session, void* argument) {
  const char* mistake = argument;
  static double state[1000];
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  cairn_comm(session, &comm);
  MPI_Comm_rank(comm, &rank);
  int code = cairn_protect(session, strcmp(mistake, "region") == 0 ? "other" : "state", state, CAIRN_DOUBLE, 1000);
  if (code == CAIRN_OK) code = cairn_restore(session);
  if (code == CAIRN_OK && strcmp(mistake, "usage") == 0) code = cairn_unprotect(session, "nothing");
  for (int step = 0; code == CAIRN_OK && step < 5; ++step) code = cairn_snapshot(session, NULL);
  if (code == CAIRN_OK) code = cairn_wait(session, CAIRN_L1);
  if (strcmp(mistake, "die") == 0) abort();
  if (strcmp(mistake, "result") == 0) return 17;
  if (strcmp(mistake, "result-of-one") == 0 && rank == 1) return 18;
  if (strcmp(mistake, "error-of-one") == 0 && rank == 1) return cairn_unprotect(session, "nothing");
  return code;
}

int main(int argc, char** argv) {
  static char none[] = "";
  MPI_Init(&argc, &argv);
  const int code = cairn_run(MPI_COMM_WORLD, "job.ini", strcmp(argv[argc - 1], "null") == 0 ? NULL : compute,
                             argc > 1 ? argv[1] : none);
  MPI_Finalize();
  return code;
}
