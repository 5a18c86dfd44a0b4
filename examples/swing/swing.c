/* swing: a string that swings, in C. It continues when processes die.
 *
 *   ckpt-run -n 4 --config swing.ini -- ./swing --steps 5000 --config swing.ini --output string.bin
 *
 * Every rank holds a piece of the string. The next run may have another number of ranks, and ends with the same
 * string. cairn_run calls simulate(). After a failure, ranks leave it by an exception, out of the call that fails, and
 * enter it again: it continues from the last snapshot. So it sets all its variables, and holds nothing that it would
 * have to free. compute_part() is what a spare does to help a rank that is lost, and split() and merge() are what its
 * replacement does for that. */
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
  int* places; /* room for two numbers of each rank, which simulate() makes once: it may be entered again */
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
  double* now;
  double* before;
};

/* A piece and its points in one block of memory: what a part of a lost rank gets and gives. */
struct block {
  int first;
  int count;
  double now[kPoints + 2];
  double before[kPoints + 2];
};

static struct piece piece_in(struct block* block) {
  const struct piece piece = {block->first, block->count, block->now, block->before};
  return piece;
}

static void pluck(struct piece* piece, int rank, int size) {
  piece->first = kPoints * rank / size;
  piece->count = kPoints * (rank + 1) / size - piece->first;
  for (int i = 0; i < kPoints + 2; ++i) {
    const double x = (double)(piece->first + i) / (kPoints + 1);
    piece->now[i] = x < 0.3 ? x / 0.3 : (1 - x) / 0.7;
    piece->before[i] = piece->now[i];
  }
}

/* One step, once the neighbours' points are there. The new points take the place of the oldest ones, so that nothing is
 * copied: the two pointers are swapped. */
static void move(struct piece* piece) {
  const double* now = piece->now;
  double* after = piece->before;
  for (int i = 1; i <= piece->count; ++i) {
    after[i] = 2 * now[i] - after[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
  }
  piece->before = piece->now;
  piece->now = after;
}

enum { kToLeft = 1, kToRight = 2 }; /* tags of messages */

static void swing(struct piece* piece, int rank, int size, MPI_Comm comm) {
  const int left = rank == 0 ? MPI_PROC_NULL : rank - 1;
  const int right = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
  double* now = piece->now;
  const int n = piece->count;
  if (rank == 0) now[0] = 0;
  if (rank == size - 1) now[n + 1] = 0;
  /* Not MPI_Sendrecv: that of Open MPI 5.0 crashes when it receives from MPI_PROC_NULL and who it sends to has died. */
  MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[4]; /* GCC takes MPICH's MPI_STATUSES_IGNORE for an array that is too short */
  MPI_Irecv(&now[n + 1], 1, MPI_DOUBLE, right, kToLeft, comm, &requests[0]);
  MPI_Irecv(&now[0], 1, MPI_DOUBLE, left, kToRight, comm, &requests[1]);
  MPI_Isend(&now[1], 1, MPI_DOUBLE, left, kToLeft, comm, &requests[2]);
  MPI_Isend(&now[n], 1, MPI_DOUBLE, right, kToRight, comm, &requests[3]);
  MPI_Waitall(4, requests, statuses);
  move(piece);
}

/* The same for a part of a lost rank's piece: beside it are other parts, or what the lost rank received. */
static int exchange(struct piece* piece, cairn_part* part) {
  const uint32_t me = cairn_part_number(part);
  const uint32_t last = cairn_part_count(part) - 1;
  const uint32_t rank = cairn_part_rank(part);
  const int has_left = rank > 0;
  const int has_right = rank + 1 < cairn_part_ranks(part);
  double* now = piece->now;
  const int n = piece->count;
  const size_t one = sizeof(double);
  int code = CAIRN_OK;
  if (me > 0) code = cairn_part_send_to_part(part, me - 1, kToLeft, &now[1], one);
  if (code == CAIRN_OK && me < last) code = cairn_part_send_to_part(part, me + 1, kToRight, &now[n], one);
  if (code == CAIRN_OK && me == 0 && has_left) code = cairn_part_send(part, rank - 1, kToLeft, &now[1], one);
  if (code == CAIRN_OK && me == last && has_right) code = cairn_part_send(part, rank + 1, kToRight, &now[n], one);
  if (code == CAIRN_OK && me == 0 && has_left) code = cairn_part_receive(part, rank - 1, kToRight, &now[0], one);
  if (code == CAIRN_OK && me == last && has_right) code = cairn_part_receive(part, rank + 1, kToLeft, &now[n + 1], one);
  if (code == CAIRN_OK && me > 0) code = cairn_part_receive_from_part(part, me - 1, kToRight, &now[0], one);
  if (code == CAIRN_OK && me < last) code = cairn_part_receive_from_part(part, me + 1, kToLeft, &now[n + 1], one);
  if (me == 0 && !has_left) now[0] = 0;
  if (me == last && !has_right) now[n + 1] = 0;
  return code;
}

static int compute_part(cairn_part* part, void* data) {
  struct block block;
  struct block result;
  int more = 1;
  (void)data;
  memcpy(&block, cairn_part_state(part, NULL), sizeof block);
  struct piece piece = piece_in(&block);
  int code = cairn_part_next_step(part, &more);
  while (code == CAIRN_OK && more) {
    code = exchange(&piece, part);
    if (code != CAIRN_OK) break;
    move(&piece);
    code = cairn_part_next_step(part, &more);
  }
  if (code != CAIRN_OK) return code;
  memset(&result, 0, sizeof result);
  result.first = piece.first;
  result.count = piece.count;
  memcpy(&result.now[1], &piece.now[1], (size_t)piece.count * sizeof(double));
  memcpy(&result.before[1], &piece.before[1], (size_t)piece.count * sizeof(double));
  return cairn_part_finish(part, &result, sizeof result);
}

/* What a rank computes with, for split() and merge(). */
struct state {
  struct piece* piece;
  long* step;
};

/* Each part is a piece of its own. A rank has at least as many points as there are parts. */
static int split(cairn_parts* parts, uint32_t count, void* data) {
  const struct piece* whole = ((const struct state*)data)->piece;
  if (whole->count < (int)count) return CAIRN_ERR_USAGE;
  for (int i = 0; i < (int)count; ++i) {
    struct block part;
    const int begin = whole->count * i / (int)count;
    memset(&part, 0, sizeof part);
    part.first = whole->first + begin;
    part.count = whole->count * (i + 1) / (int)count - begin;
    memcpy(part.now, &whole->now[begin], ((size_t)part.count + 2) * sizeof(double));
    memcpy(part.before, &whole->before[begin], ((size_t)part.count + 2) * sizeof(double));
    const int code = cairn_add_part(parts, &part, sizeof part);
    if (code != CAIRN_OK) return code;
  }
  return CAIRN_OK;
}

static int merge(const void* const* parts, const size_t* bytes, uint32_t count, uint64_t steps, void* data) {
  const struct state* state = data;
  for (uint32_t i = 0; i < count; ++i) {
    const struct block* part = parts[i];
    const int begin = part->first - state->piece->first;
    if (bytes[i] != sizeof *part) return CAIRN_ERR_USAGE;
    memcpy(&state->piece->now[begin + 1], &part->now[1], (size_t)part->count * sizeof(double));
    memcpy(&state->piece->before[begin + 1], &part->before[1], (size_t)part->count * sizeof(double));
  }
  *state->step += (long)steps;
  return CAIRN_OK;
}

/* The whole string, on rank 0. */
static void write_string(const struct piece* piece, int rank, int size, MPI_Comm comm, const struct options* options) {
  const char* path = options->output;
  double string[kPoints];
  int* counts = options->places;
  int* firsts = options->places + size;
  for (int i = 0; i < size; ++i) {
    firsts[i] = kPoints * i / size;
    counts[i] = kPoints * (i + 1) / size - firsts[i];
  }
  MPI_Gatherv(&piece->now[1], piece->count, MPI_DOUBLE, string, counts, firsts, MPI_DOUBLE, 0, comm);
  if (rank != 0) return;
  FILE* file = fopen(path, "wb");
  if (file == NULL || fwrite(string, sizeof(double), kPoints, file) != kPoints)
    fprintf(stderr, "swing: %s: cannot be written\n", path);
  if (file != NULL) fclose(file);
}

static void pause_for(long ms) {
  const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  if (ms > 0) nanosleep(&time, NULL);
}

/* From the last snapshot to the end. CAIRN_OK or an error. */
static int simulate(cairn_session* session, void* argument) {
  struct options* options = argument;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  long step = 0;
  static struct block block;
  struct piece piece = piece_in(&block);
  cairn_comm(session, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  pluck(&piece, rank, size);
  if (options->places == NULL) options->places = malloc(2 * (size_t)size * sizeof(int));

  /* Not the arrays but their pointers, because move() swaps them. Each is a part of the string, with a ghost at each
   * end. */
  const size_t points = (size_t)piece.count + 2;
  const size_t whole = kPoints;
  const size_t first = (size_t)piece.first;
  const size_t one = 1;
  cairn_protect_pointer_block(session, "now", &piece.now, CAIRN_DOUBLE, 1, &points, &whole, &first, &one, &one);
  cairn_protect_pointer_block(session, "before", &piece.before, CAIRN_DOUBLE, 1, &points, &whole, &first, &one, &one);
  cairn_protect_opaque(session, "step", &step, "long", sizeof step, 1);
  cairn_kind_same(session, "step");
  struct state state = {&piece, &step};
  cairn_on_loss(session, split, merge, &state);
  int code = cairn_restore(session);
  if (code != CAIRN_OK) return code;
  if (rank == 0) printf(step > 0 ? "swing: continues at step %ld:\n" : "swing: starts at step %ld\n", step);
  fflush(stdout);

  while (step < options->steps) {
    swing(&piece, rank, size, comm);
    ++step;
    code = cairn_snapshot(session, NULL);
    if (code != CAIRN_OK) return code;
    pause_for(options->pause_ms);
  }
  if (options->output != NULL) write_string(&piece, rank, size, comm, options);
  if (rank == 0) printf("swing: the string has swung %ld steps\n", step);
  return CAIRN_OK;
}

int main(int argc, char** argv) {
  struct options options = {0, 0, NULL, NULL, NULL};
  MPI_Init(&argc, &argv);
  if (!parse(argc, argv, &options)) {
    MPI_Finalize();
    return 2;
  }
  const int code = cairn_run_with_helpers(MPI_COMM_WORLD, options.config, simulate, &options, compute_part, NULL);
  free(options.places);
  MPI_Finalize();
  return code;
}
