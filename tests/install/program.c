/* What a user of the installed library writes in C: counts to ten. With "die" it dies at five. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/cairn.h>

static void check(int code) {
  if (code == CAIRN_OK) return;
  fprintf(stderr, "%s\n", cairn_error_text());
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

int main(int argc, char** argv) {
  static double state[1000];
  int step = 0, start, rank, ranks, sum;
  MPI_Comm comm;
  cairn_session* session;
  MPI_Init(&argc, &argv);
  int code = cairn_init(MPI_COMM_WORLD, "program.ini", &session);
  if (code == CAIRN_HEAD) {
    MPI_Finalize();
    return EXIT_SUCCESS;
  }
  check(code);
  check(cairn_protect(session, "state", state, CAIRN_DOUBLE, 1000));
  check(cairn_protect(session, "step", &step, CAIRN_INT32, 1));
  check(cairn_restore(session));
  check(cairn_comm(session, &comm));
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  start = step;
  while (step < 10) {
    sum = step;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
    ++step;
    check(cairn_snapshot(session, NULL));
    check(cairn_wait(session, CAIRN_L1));
    if (argc > 1 && strcmp(argv[1], "die") == 0 && step == 5) abort();
  }
  if (rank == 0) printf("from %d to %d on %d ranks\n", start, step, ranks);
  check(cairn_finalize(&session));
  MPI_Finalize();
  return EXIT_SUCCESS;
}
