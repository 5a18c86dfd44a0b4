/* swing: a string that swings, in C. It continues when processes die.
 *
 *   mpirun -n 4 swing --steps 5000 --config swing.ini --output string.bin
 *
 * Every rank holds a piece of the string. simulate() is the part that is run again after a failure, from the last
 * snapshot: it returns CAIRN_ROLLBACK as soon as a Cairn call does. MPI calls need no check, since what they leave
 * behind is not used: no snapshot is taken after a failure. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <cairn/cairn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kPoints = 240 }; /* of the whole string; its ends are fixed */

struct options {
  long steps;
  long pause_ms;
  const char* config;
  const char* output;
};

static int usage(void) {
  fprintf(stderr, "usage: swing --steps N [--config FILE] [--output FILE] [--pause-ms N]\n");
  return 0;
}

static int parse(int argc, char** argv, struct options* options) {
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return usage();
    if (strcmp(argv[i], "--steps") == 0) {
      options->steps = strtol(argv[i + 1], NULL, 10);
    } else if (strcmp(argv[i], "--pause-ms") == 0) {
      options->pause_ms = strtol(argv[i + 1], NULL, 10);
    } else if (strcmp(argv[i], "--config") == 0) {
      options->config = argv[i + 1];
    } else if (strcmp(argv[i], "--output") == 0) {
      options->output = argv[i + 1];
    } else {
      return usage();
    }
  }
  return options->steps > 0 ? 1 : usage();
}

/* A piece of the string: `count` points from `first` on, now and one step before, with a neighbour's point at each end.
 */
struct piece {
  int first;
  int count;
  double now[kPoints + 2];
  double before[kPoints + 2];
};

static void pluck(struct piece* piece, int rank, int size) {
  piece->first = kPoints * rank / size;
  piece->count = kPoints * (rank + 1) / size - piece->first;
  for (int i = 0; i < kPoints + 2; ++i) {
    const double x = (double)(piece->first + i) / (kPoints + 1);
    piece->now[i] = x < 0.3 ? x / 0.3 : (1 - x) / 0.7;
    piece->before[i] = piece->now[i];
  }
}

static void swing(struct piece* piece, int rank, int size, MPI_Comm comm) {
  const int left = rank == 0 ? MPI_PROC_NULL : rank - 1;
  const int right = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
  double* now = piece->now;
  const int n = piece->count;
  double after[kPoints + 2];
  if (rank == 0) now[0] = 0;
  if (rank == size - 1) now[n + 1] = 0;
  /* Not MPI_Sendrecv: that of Open MPI 5.0 crashes when it receives from MPI_PROC_NULL and who it sends to has died. */
  MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[4]; /* GCC takes MPICH's MPI_STATUSES_IGNORE for an array that is too short */
  MPI_Irecv(&now[n + 1], 1, MPI_DOUBLE, right, 1, comm, &requests[0]);
  MPI_Irecv(&now[0], 1, MPI_DOUBLE, left, 2, comm, &requests[1]);
  MPI_Isend(&now[1], 1, MPI_DOUBLE, left, 1, comm, &requests[2]);
  MPI_Isend(&now[n], 1, MPI_DOUBLE, right, 2, comm, &requests[3]);
  MPI_Waitall(4, requests, statuses);
  for (int i = 1; i <= n; ++i) {
    after[i] = 2 * now[i] - piece->before[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
  }
  memcpy(&piece->before[1], &now[1], (size_t)n * sizeof(double));
  memcpy(&now[1], &after[1], (size_t)n * sizeof(double));
}

/* The whole string, on rank 0. */
static void write_string(const struct piece* piece, int rank, int size, MPI_Comm comm, const char* path) {
  double string[kPoints];
  int* counts = malloc((size_t)size * sizeof(int));
  int* firsts = malloc((size_t)size * sizeof(int));
  for (int i = 0; i < size; ++i) {
    firsts[i] = kPoints * i / size;
    counts[i] = kPoints * (i + 1) / size - firsts[i];
  }
  const int code = MPI_Gatherv(&piece->now[1], piece->count, MPI_DOUBLE, string, counts, firsts, MPI_DOUBLE, 0, comm);
  free(counts);
  free(firsts);
  if (rank != 0 || code != MPI_SUCCESS) return;
  FILE* file = fopen(path, "wb");
  if (file == NULL || fwrite(string, sizeof(double), kPoints, file) != kPoints)
    fprintf(stderr, "swing: %s: cannot be written\n", path);
  if (file != NULL) fclose(file);
}

static void pause_for(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  if (ms > 0) nanosleep(&time, NULL);
}

/* From the last snapshot to the end. CAIRN_OK, CAIRN_ROLLBACK or an error. */
static int simulate(cairn_session** session, const struct options* options) {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  long step = 0;
  struct piece piece;
  cairn_comm(*session, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  pluck(&piece, rank, size);

  cairn_protect(*session, "now", piece.now, CAIRN_DOUBLE, kPoints + 2);
  cairn_protect(*session, "before", piece.before, CAIRN_DOUBLE, kPoints + 2);
  cairn_protect_opaque(*session, "step", &step, "long", sizeof step, 1);
  int code = cairn_restore(*session);
  if (code != CAIRN_OK) return code;
  if (rank == 0) printf(step > 0 ? "swing: continues at step %ld:\n" : "swing: starts at step %ld\n", step);
  fflush(stdout);

  while (step < options->steps) {
    swing(&piece, rank, size, comm);
    ++step;
    code = cairn_snapshot(*session, NULL);
    if (code != CAIRN_OK) return code;
    pause_for(options->pause_ms);
  }
  if (options->output != NULL) write_string(&piece, rank, size, comm, options->output);
  code = cairn_finalize(session);
  if (code == CAIRN_OK && rank == 0) printf("swing: the string has swung %ld steps\n", step);
  return code;
}

int main(int argc, char** argv) {
  struct options options = {0, 0, NULL, NULL};
  MPI_Init(&argc, &argv);
  if (!parse(argc, argv, &options)) {
    MPI_Finalize();
    return 2;
  }
  cairn_session* session = NULL;
  int code = cairn_init(MPI_COMM_WORLD, options.config, &session);
  /* All ranks have such an error, and Cairn has logged it. */
  const int has_begun = code >= CAIRN_OK;
  while (code == CAIRN_OK) {
    code = simulate(&session, &options);
    if (code == CAIRN_OK) break;
    if (code == CAIRN_ROLLBACK) code = cairn_recover(session);
  }
  /* This one other ranks may not have. */
  if (has_begun && code < CAIRN_OK) MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  MPI_Finalize();
  return code < CAIRN_OK ? EXIT_FAILURE : EXIT_SUCCESS;
}
