/* A small application in C for the tests beside this file, whose steps are loops that end by what MPI brings:
 *
 *   residual WAY --steps N --config FILE --output FILE --pause-ms N
 *
 * How it leaves such a loop after a failure, by WAY:
 *
 *   check              by what cairn_failed says
 *   fatal              the same, in a program whose MPI errors are fatal, as it says
 *   longjmp            by an error handler that jumps
 *   jumps-from-probe   the same, and ranks ask whether the loop can go on before they do so
 *   ignore             not at all
 *   run                by the exception of cairn_run
 *   bare               the same, but the function that cairn_run calls has no unwind table
 *   through            the same of a function between the two
 *   nested             the same, and it opens a session amid its steps, which must be an error
 *   exit               the application calls exit() amid its steps, inside cairn_run
 *   returns            rank 1 fails amid its steps, inside cairn_run */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "residual.h"

#include <cairn/cairn.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
  const char* way;
  int jumps;
  int probes;
  int is_fatal;
  int checks;
  int runs;
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
  options->way = argc > 1 ? argv[1] : "";
  options->probes = strcmp(options->way, "jumps-from-probe") == 0;
  options->jumps = options->probes || strcmp(options->way, "longjmp") == 0;
  options->is_fatal = strcmp(options->way, "fatal") == 0;
  options->checks = options->is_fatal || strcmp(options->way, "check") == 0;
  options->runs = !options->jumps && !options->checks && strcmp(options->way, "ignore") != 0;
  for (int i = 2; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--steps") == 0) options->steps = strtol(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--pause-ms") == 0) options->pause_ms = strtol(argv[i + 1], NULL, 10);
    if (strcmp(argv[i], "--config") == 0) options->config = argv[i + 1];
    if (strcmp(argv[i], "--output") == 0) options->output = argv[i + 1];
  }
}

/* Rank 0 waits for a word of all others, and tells them to go on. */
static void ask_all(MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int i = 1; rank == 0 && i < size; ++i) {
    MPI_Status status;
    int flag = 0;
    while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 1, comm, &flag, &status);
    MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, 1, comm, MPI_STATUS_IGNORE);
  }
  if (rank != 0) MPI_Send(NULL, 0, MPI_BYTE, 0, 1, comm);
  if (rank != 0) MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, comm, MPI_STATUS_IGNORE);
  for (int i = 1; rank == 0 && i < size; ++i) MPI_Send(NULL, 0, MPI_BYTE, i, 2, comm);
}

/* Halves its number until the sum of all is small. Makes no Cairn call but cairn_failed. */
static long solve(const cairn_session* session, MPI_Comm comm, const struct options* options) {
  const struct timespec pause = {0, options->pause_ms * 1000000};
  double mine = 1;
  double residual = 1;
  long turns = 0;
  do {
    if (options->probes) ask_all(comm);
    mine /= 2;
    MPI_Allreduce(&mine, &residual, 1, MPI_DOUBLE, MPI_SUM, comm);
    ++turns;
    nanosleep(&pause, NULL);
  } while (residual > 0.5 && !(options->checks && cairn_failed(session)));
  return turns;
}

/* What some ways do amid the steps. 0: nothing. */
static int trouble(const struct options* options, int rank) {
  if (strcmp(options->way, "exit") == 0) exit(0);
  if (strcmp(options->way, "nested") == 0) {
    cairn_session* other = NULL;
    if (cairn_init(MPI_COMM_WORLD, options->config, &other) != CAIRN_ERR_USAGE || other != NULL) return 5;
    return cairn_run(MPI_COMM_WORLD, options->config, residual_compute, NULL) == 1 ? CAIRN_OK : 6;
  }
  return strcmp(options->way, "returns") == 0 && rank == 1 ? 3 : 0;
}

static int entries;
static int exits;
static void leave(const int* held) {
  (void)held;
  ++exits;
}

static int compute(cairn_session* session, const struct options* options) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  int rank = 0;
  __attribute__((cleanup(leave))) int held = ++entries; /* -fexceptions: released when an exception passes, too */
  if (!options->jumps && held != exits + 1) return 7;
  static long state[2]; /* the step, and turns so far */
  memset(state, 0, sizeof state);
  cairn_comm(session, &comm);
  MPI_Comm_rank(comm, &rank);
  if (options->is_fatal) MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  if (options->jumps) {
    if (setjmp(way_back) != 0) return CAIRN_ROLLBACK;
    MPI_Comm_create_errhandler(&jump, &handler);
    MPI_Comm_set_errhandler(comm, handler);
  }
  cairn_protect_opaque(session, "state", state, "long", sizeof(long), 2);
  int code = cairn_restore(session);
  if (code != CAIRN_OK) return code;
  if (rank == 0)
    printf(state[0] > 0 ? "residual: continues at step %ld:\n" : "residual: starts at step %ld\n", state[0]);
  fflush(stdout);
  while (state[0] < options->steps) {
    state[1] += solve(session, comm, options);
    ++state[0];
    code = cairn_snapshot(session, NULL);
    if (code != CAIRN_OK) return code;
    if (state[0] == options->steps / 2) code = trouble(options, rank);
    if (code != CAIRN_OK) return code;
  }
  MPI_Barrier(comm);
  FILE* file = rank == 0 ? fopen(options->output, "w") : NULL;
  if (file != NULL) {
    fprintf(file, "%ld\n", state[1]);
    fclose(file);
  }
  return CAIRN_OK;
}

int residual_compute(cairn_session* session, void* argument) { return compute(session, argument); }

static int compute_through(cairn_session* session, void* argument) { return residual_bare(session, argument); }

static int run(struct options* options) {
  const int through = strcmp(options->way, "through") == 0;
  const int bare = strcmp(options->way, "bare") == 0;
  const int code = cairn_run(MPI_COMM_WORLD, options->config,
                             through ? compute_through : (bare ? residual_bare : residual_compute), options);
  MPI_Finalize();
  return code;
}

int main(int argc, char** argv) {
  struct options options = {NULL, 0, 0, 0, 0, 0, 0, 0, NULL, NULL};
  MPI_Init(&argc, &argv);
  parse(argc, argv, &options);
  if (options.is_fatal) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (options.runs) return run(&options);
  cairn_session* session = NULL;
  int code = cairn_init(MPI_COMM_WORLD, options.config, &session);
  while (code == CAIRN_OK) {
    code = compute(session, &options);
    if (code == CAIRN_OK) code = cairn_finalize(&session);
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
