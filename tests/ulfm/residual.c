/* A small application in C for the tests beside this file, whose steps are loops that end by what MPI brings:
 *
 *   residual check|longjmp --steps N --config FILE --output FILE --pause-ms N
 *
 * After a failure it leaves such a loop by what cairn_failed says, or by an error handler that jumps. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <cairn/cairn.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
  int jumps;
  long steps;
  long pause_ms;
  const char* config;
  const char* output;
};

static jmp_buf way_back;

static void jump(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  longjmp(way_back, 1);
}

static void parse(int argc, char** argv, struct options* options) {
  options->jumps = argc > 1 && strcmp(argv[1], "longjmp") == 0;
  for (int i = 2; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--steps") == 0) options->steps = strtol(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--pause-ms") == 0) options->pause_ms = strtol(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--config") == 0) options->config = argv[i + 1];
    if (strcmp(argv[i], "--output") == 0) options->output = argv[i + 1];
  }
}

/* Halves its number until the sum of all is small. Makes no Cairn call but cairn_failed. */
static long solve(const cairn_session* session, MPI_Comm comm, int jumps, long pause_ms) {
  const struct timespec pause = {0, pause_ms * 1000000};
  double mine = 1;
  double residual = 1;
  long turns = 0;
  while (residual > 0.5 && (jumps || !cairn_failed(session))) {
    mine /= 2;
    MPI_Allreduce(&mine, &residual, 1, MPI_DOUBLE, MPI_SUM, comm);
    ++turns;
    nanosleep(&pause, NULL);
  }
  return turns;
}

static int compute(cairn_session** session, const struct options* options) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  int rank = 0;
  static long state[2]; /* the step, and turns so far */
  memset(state, 0, sizeof state);
  cairn_comm(*session, &comm);
  MPI_Comm_rank(comm, &rank);
  if (options->jumps) {
    if (setjmp(way_back) != 0) return CAIRN_ROLLBACK;
    MPI_Comm_create_errhandler(&jump, &handler);
    MPI_Comm_set_errhandler(comm, handler);
  }
  cairn_protect_opaque(*session, "state", state, "long", sizeof(long), 2);
  int code = cairn_restore(*session);
  if (code != CAIRN_OK) return code;
  if (rank == 0)
    printf(state[0] > 0 ? "residual: continues at step %ld:\n" : "residual: starts at step %ld\n", state[0]);
  fflush(stdout);
  while (state[0] < options->steps) {
    state[1] += solve(*session, comm, options->jumps, options->pause_ms);
    ++state[0];
    code = cairn_snapshot(*session, NULL);
    if (code != CAIRN_OK) return code;
  }
  MPI_Barrier(comm);
  FILE* file = rank == 0 ? fopen(options->output, "w") : NULL;
  if (file != NULL) {
    fprintf(file, "%ld\n", state[1]);
    fclose(file);
  }
  return cairn_finalize(session);
}

int main(int argc, char** argv) {
  struct options options = {0, 0, 0, NULL, NULL};
  MPI_Init(&argc, &argv);
  parse(argc, argv, &options);
  cairn_session* session = NULL;
  int code = cairn_init(MPI_COMM_WORLD, options.config, &session);
  while (code == CAIRN_OK) {
    code = compute(&session, &options);
    if (code == CAIRN_OK) break;
    if (code == CAIRN_ROLLBACK) code = cairn_recover(session);
  }
  if (code != CAIRN_OK && code != CAIRN_HEAD) {
    fprintf(stderr, "residual: %s\n", cairn_error_text());
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  MPI_Finalize();
  return 0;
}
