/* Programs as people write them, for rehearse.py: some come back with the same result, and some have a defect that only
 * a failure shows.
 *
 *   rehearsed KIND CONFIG
 *
 *   good       comes back
 *   endless    the same, but it runs until somebody ends it
 *   forgotten  one of the two arrays that the result depends on is not protected
 *   swapped    two protected pointers are swapped
 *   drawn      each run draws other numbers
 *   rounded    after a failure the result differs in the last digits
 *   once       calls snapshot() once
 *   late       protects an array after restore()
 *   early      calls snapshot() before restore()
 *   unrestored never calls restore()
 *   unfinished never calls finalize()
 *   leaves     one rank leaves out the last call of snapshot()
 *   pending    a request is pending at a call of snapshot()
 *   crossing   a message is sent before a call of snapshot(), and received after it
 *   quiet      computes for more than a second
 *   never      uses MPI alone
 *   fails      ends with an error before it has taken a snapshot */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <cairn/cairn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { kPoints = 100, kSteps = 9 };

struct state {
  const char* kind;
  double now[kPoints];
  double before[kPoints];
};

static int is(const struct state* state, const char* kind) { return strcmp(state->kind, kind) == 0; }

static double draw(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)now.tv_nsec;
}

enum { kExchange = 4, kTag = 5 };

/* What is wrong around the call of snapshot() of one step. */
static int exchange_around(const struct state* state, cairn_session* session, MPI_Comm comm, int rank) {
  int code = CAIRN_OK;
  char byte = 0;
  if (is(state, "pending")) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) MPI_Irecv(&byte, 1, MPI_BYTE, 1, kTag, comm, &request);
    code = cairn_snapshot(session, NULL);
    if (rank == 1) MPI_Send(&byte, 1, MPI_BYTE, 0, kTag, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    if (rank == 1) MPI_Send(&byte, 1, MPI_BYTE, 0, kTag, comm);
    code = cairn_snapshot(session, NULL);
    if (rank == 0) MPI_Recv(&byte, 1, MPI_BYTE, 1, kTag, comm, MPI_STATUS_IGNORE);
  }
  return code;
}

static int take_snapshot(const struct state* state, cairn_session* session, MPI_Comm comm, int rank, int step) {
  const struct timespec second = {1, 100000000};
  if (is(state, "quiet") && step == kExchange) nanosleep(&second, NULL);
  if (is(state, "leaves") && rank == 1 && step == kSteps) return CAIRN_OK;
  if ((is(state, "pending") || is(state, "crossing")) && step == kExchange)
    return exchange_around(state, session, comm, rank);
  return cairn_snapshot(session, NULL);
}

static int simulate(cairn_session* session, void* argument) {
  struct state* state = argument;
  double* now = state->now;
  double* before = state->before;
  int32_t step = 0;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  cairn_comm(session, &comm);
  MPI_Comm_rank(comm, &rank);
  if (is(state, "fails")) return CAIRN_ERR_USAGE;
  for (int i = 0; i < kPoints; ++i) {
    now[i] = rank + i;
    before[i] = 1;
  }
  if (is(state, "swapped")) {
    cairn_protect(session, "now", now, CAIRN_DOUBLE, kPoints);
    cairn_protect(session, "before", before, CAIRN_DOUBLE, kPoints);
  } else {
    cairn_protect_pointer(session, "now", &now, CAIRN_DOUBLE, kPoints);
    if (!is(state, "forgotten") && !is(state, "late"))
      cairn_protect_pointer(session, "before", &before, CAIRN_DOUBLE, kPoints);
  }
  cairn_protect(session, "step", &step, CAIRN_INT32, 1);
  if (is(state, "early") && cairn_snapshot(session, NULL) != CAIRN_OK) return CAIRN_ERR_USAGE;
  const int code = is(state, "unrestored") ? CAIRN_OK : cairn_restore(session);
  if (code != CAIRN_OK) return code;
  if (is(state, "late")) cairn_protect_pointer(session, "before", &before, CAIRN_DOUBLE, kPoints);
  if (is(state, "rounded") && step > 0) now[7] *= 1 + 1e-14;

  const int steps = is(state, "once") ? 1 : kSteps;
  while (step < steps || is(state, "endless")) {
    double sum = 0;
    MPI_Allreduce(&now[0], &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    double* after = before;
    for (int i = 0; i < kPoints; ++i) after[i] = 0.5 * now[i] + 0.25 * before[i] + 1e-3 * sum;
    if (is(state, "drawn")) after[3] += draw();
    before = now;
    now = after;
    ++step;
    if (take_snapshot(state, session, comm, rank, step) != CAIRN_OK) return CAIRN_ERR_USAGE;
  }
  return CAIRN_OK;
}

int main(int argc, char** argv) {
  static struct state state;
  MPI_Init(&argc, &argv);
  if (argc != 3) {
    fputs("rehearsed KIND CONFIG\n", stderr);
    return 2;
  }
  state.kind = argv[1];
  if (is(&state, "never")) {
    MPI_Finalize();
    return 0;
  }
  if (is(&state, "unfinished")) {
    cairn_session* session = NULL;
    int done = cairn_init(MPI_COMM_WORLD, argv[2], &session);
    if (done == CAIRN_OK) done = simulate(session, &state);
    MPI_Finalize();
    return done == CAIRN_OK ? 0 : 1;
  }
  const int code = cairn_run(MPI_COMM_WORLD, argv[2], simulate, &state);
  MPI_Finalize();
  return code;
}
