/* A program that was written for VELOC, with its calls in C.
 *
 *   veloc_program CASE CFG [STEPS]: each case prints on rank 0 what it has done, and "done" at its end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <veloc.h>

enum { kCells = 1000, kEvery = 10 };

static int rank, size;

static void check(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "rank %d: not true: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(what) check((what), #what)
#define GOOD(call) check((call) == VELOC_SUCCESS, #call)
#define BAD(call) check((call) == VELOC_FAILURE, #call)

static void told(const char* what) {
  if (rank == 0) printf("%s\n", what);
}

static void compute(double* cells, int step) {
  for (int i = 0; i < kCells; ++i) cells[i] += (double)((i + rank) % 7) * step;
}

static void report(const double* cells, int from, int step) {
  double mine = 0, sum = 0;
  for (int i = 0; i < kCells; ++i) mine += cells[i] * (i % 3 + 1);
  MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("from %d to %d, sum %.17g\n", from, step, sum);
}

/* Saves memory. With `dies`, the last rank is killed after the last step but one. */
static void in_memory(int steps, int dies, const char* name) {
  double* cells = calloc(kCells, sizeof(double));
  int step = 0;
  GOOD(VELOC_Mem_protect(0, &size, 1, sizeof(int)));
  GOOD(VELOC_Mem_protect(0, &step, 1, sizeof(int)));
  GOOD(VELOC_Mem_protect(1, cells, kCells, sizeof(double)));
  const int version = VELOC_Restart_test(name, 0);
  if (version > 0) {
    GOOD(VELOC_Restart(name, version));
    CHECK(step == version);
  } else {
    CHECK(version == VELOC_IGNORED);
  }
  const int from = step;
  while (step < steps) {
    compute(cells, ++step);
    if (step % kEvery == 0) GOOD(VELOC_Checkpoint(name, step));
    if (dies && step == steps - 1) {
      GOOD(VELOC_Checkpoint_wait());
      CHECK(VELOC_Checkpoint_finished() == 1);
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank == size - 1) kill(getpid(), SIGKILL);
    }
  }
  report(cells, from, step);
  free(cells);
}

/* Saves a file of its own. */
static void in_file(int steps) {
  double* cells = calloc(kCells, sizeof(double));
  int step = 0;
  char path[VELOC_MAX_NAME];
  const int version = VELOC_Restart_test("files", 0);
  if (version > 0) {
    GOOD(VELOC_Restart_begin("files", version));
    GOOD(VELOC_Route_file("ignored", path));
    FILE* file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fread(&step, sizeof step, 1, file) == 1);
    CHECK(fread(cells, sizeof(double), kCells, file) == kCells);
    fclose(file);
    GOOD(VELOC_Restart_end(1));
    CHECK(step == version);
  }
  const int from = step;
  while (step < steps) {
    compute(cells, ++step);
    if (step % kEvery != 0) continue;
    GOOD(VELOC_Checkpoint_wait());
    GOOD(VELOC_Checkpoint_begin("files", step));
    GOOD(VELOC_Route_file("state.dat", path));
    FILE* file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(&step, sizeof step, 1, file) == 1);
    CHECK(fwrite(cells, sizeof(double), kCells, file) == kCells);
    fclose(file);
    GOOD(VELOC_Checkpoint_end(1));
  }
  report(cells, from, step);
  free(cells);
}

/* Goes back to versions that are not the newest. */
static void older(void) {
  int state = 0;
  GOOD(VELOC_Mem_protect(3, &state, 1, sizeof state));
  for (int version = 10; version <= 50; version += 10) {
    state = version * 100 + rank;
    GOOD(VELOC_Checkpoint("older", version));
  }
  CHECK(VELOC_Restart_test("older", 0) == 50);
  CHECK(VELOC_Restart_test("older", 35) == 30);
  CHECK(VELOC_Restart_test("older", 30) == 30);
  CHECK(VELOC_Restart_test("older", 9) == VELOC_IGNORED);
  GOOD(VELOC_Restart("older", 30));
  CHECK(state == 3000 + rank);
  GOOD(VELOC_Restart("older", 50)); /* nothing was taken meanwhile */
  GOOD(VELOC_Restart("older", 30));
  CHECK(state == 3000 + rank);
  CHECK(VELOC_Restart_test("older", 0) == 50);
  state = 4400 + rank;
  GOOD(VELOC_Checkpoint("older", 44)); /* the job goes on from 30: those after it are of the branch that was left */
  CHECK(VELOC_Restart_test("older", 0) == 44 && VELOC_Restart_test("older", 43) == 30);
}

/* Starts again, in another process. */
static void older_again(void) {
  int state = 0;
  GOOD(VELOC_Mem_protect(3, &state, 1, sizeof state));
  CHECK(VELOC_Restart_test("older", 0) == 44);
  CHECK(VELOC_Restart_test("older", 43) == 30);
  GOOD(VELOC_Restart("older", 20));
  CHECK(state == 2000 + rank);
}

/* Asks for sizes first, and for some regions before others. Ranks have different regions. */
static void selective(void) {
  const int mine = 5 + rank;
  int number = mine, other = 77;
  double* data = calloc((size_t)mine, sizeof(double));
  for (int i = 0; i < mine; ++i) data[i] = i + rank;
  int ids[2] = {1, 2};
  GOOD(VELOC_Mem_protect(1, &number, 1, sizeof number));
  GOOD(VELOC_Mem_protect(2, data, (size_t)mine, sizeof(double)));
  GOOD(VELOC_Mem_protect(9, &other, 1, sizeof other));
  if (rank == 0) GOOD(VELOC_Mem_protect(7, &other, 1, sizeof other));
  GOOD(VELOC_Checkpoint_begin("parts", 0));
  GOOD(VELOC_Checkpoint_selective(VELOC_CKPT_SOME, ids, 2));
  GOOD(VELOC_Checkpoint_end(1));
  GOOD(VELOC_Checkpoint_begin("parts", 1));
  GOOD(VELOC_Checkpoint_selective(VELOC_CKPT_REST, ids, 1));
  GOOD(VELOC_Checkpoint_end(1));

  number = other = 0;
  free(data);
  GOOD(VELOC_Mem_clear());
  GOOD(VELOC_Restart_begin("parts", 0));
  CHECK(VELOC_Recover_size(9) == 0);
  CHECK(VELOC_Recover_size(2) == mine * (int)sizeof(double));
  GOOD(VELOC_Mem_protect(1, &number, 1, sizeof number));
  GOOD(VELOC_Recover_selective(VELOC_RECOVER_SOME, ids, 1));
  CHECK(number == mine);
  number = -1;
  data = calloc((size_t)mine + 10, sizeof(double)); /* may be larger than what was saved */
  GOOD(VELOC_Mem_protect(2, data, (size_t)mine + 10, sizeof(double)));
  GOOD(VELOC_Recover_selective(VELOC_RECOVER_REST, ids, 1));
  CHECK(number == -1 && data[mine - 1] == mine - 1 + rank && data[mine] == 0);
  GOOD(VELOC_Restart_end(1));

  GOOD(VELOC_Mem_protect(9, &other, 1, sizeof other));
  if (rank == 0) GOOD(VELOC_Mem_protect(7, &other, 1, sizeof other));
  GOOD(VELOC_Restart("parts", 1));
  CHECK(other == 77 && number == -1);
  free(data);
}

/* Two names, each with regions of its own. */
static void names(void) {
  int fast = 1, slow = 2;
  GOOD(VELOC_Region_protect(0, &fast, 1, sizeof fast, "fast.0"));
  GOOD(VELOC_Region_protect(0, &slow, 1, sizeof slow, "slow"));
  GOOD(VELOC_Checkpoint("fast.0", 1));
  GOOD(VELOC_Checkpoint("slow", 1));
  fast = 3;
  GOOD(VELOC_Checkpoint("fast.0", 2));
  fast = slow = 0;
  CHECK(VELOC_Restart_test("fast.0", 0) == 2 && VELOC_Restart_test("slow", 0) == 1);
  GOOD(VELOC_Restart("slow", 1));
  CHECK(fast == 0 && slow == 2);
  GOOD(VELOC_Restart("fast.0", 2));
  CHECK(fast == 3);
  GOOD(VELOC_Region_unprotect(0, "slow"));
  BAD(VELOC_Region_unprotect(0, "slow"));
  GOOD(VELOC_Region_clear("fast.0"));
  BAD(VELOC_Checkpoint("fast.0", 3));
}

/* Uses that are wrong on all ranks. None of them disturbs the next good one. */
static void wrong(void) {
  int state = 5, two[2] = {0, 0};
  char path[VELOC_MAX_NAME];
  BAD(VELOC_Mem_unprotect(4));
  BAD(VELOC_Mem_protect(4, NULL, 3, 4));
  BAD(VELOC_Checkpoint("state", 1)); /* nothing is protected */
  GOOD(VELOC_Mem_protect(4, &state, 1, sizeof state));
  BAD(VELOC_Checkpoint_begin("bad/name", 1));
  BAD(VELOC_Checkpoint_begin("..", 1));
  BAD(VELOC_Checkpoint_begin(NULL, 1));
  BAD(VELOC_Checkpoint_begin("state", -1));
  BAD(VELOC_Checkpoint_mem());
  BAD(VELOC_Checkpoint_end(1));
  BAD(VELOC_Route_file("x", path));
  CHECK(path[0] == '\0');
  GOOD(VELOC_Checkpoint_begin("state", 1));
  BAD(VELOC_Checkpoint_begin("state", 2));
  BAD(VELOC_Checkpoint_wait());
  BAD(VELOC_Restart_begin("state", 1));
  GOOD(VELOC_Checkpoint_mem());
  GOOD(VELOC_Checkpoint_end(1));
  BAD(VELOC_Restart("state", 7)); /* there is none */
  CHECK(VELOC_Restart_test("state", -3) == VELOC_FAILURE);
  BAD(VELOC_Recover_mem());
  CHECK(VELOC_Recover_size(4) == 0);
  BAD(VELOC_Restart_end(1));
  GOOD(VELOC_Restart_begin("state", 1));
  BAD(VELOC_Route_file("x", path)); /* there is no file in it */
  GOOD(VELOC_Mem_protect(4, &state, 1, 2));
  BAD(VELOC_Recover_mem()); /* the memory is too small */
  GOOD(VELOC_Mem_clear());
  BAD(VELOC_Recover_mem()); /* there is none */
  GOOD(VELOC_Mem_protect(4, two, 2, sizeof(int)));
  GOOD(VELOC_Recover_mem());
  GOOD(VELOC_Restart_end(1));
  CHECK(two[0] == 5);
  GOOD(VELOC_Checkpoint("state", 2));
}

/* Calls that differ between ranks, and ranks that fail. */
static void uneven(void) {
  int state = rank;
  GOOD(VELOC_Mem_protect(0, &state, 1, sizeof state));
  GOOD(VELOC_Checkpoint("even", 1));
  BAD(VELOC_Checkpoint(rank == 1 ? "odd" : "even", 2));
  BAD(VELOC_Checkpoint("even", rank == 1 ? 3 : 2));
  if (rank == 1) {
    CHECK(VELOC_Restart_test("even", 0) == VELOC_FAILURE);
  } else {
    BAD(VELOC_Checkpoint("even", 2));
  }
  GOOD(VELOC_Checkpoint_begin("even", 2));
  GOOD(VELOC_Checkpoint_mem());
  BAD(VELOC_Checkpoint_end(rank != 1)); /* one rank has failed */
  CHECK(VELOC_Restart_test("even", 0) == 1);
  GOOD(VELOC_Restart_begin("even", 1));
  if (rank == 1) GOOD(VELOC_Mem_unprotect(0));
  state = -1;
  CHECK(VELOC_Recover_mem() == (rank == 1 ? VELOC_FAILURE : VELOC_SUCCESS)); /* it has nowhere to put it */
  CHECK(state == (rank == 1 ? -1 : rank));
  GOOD(VELOC_Restart_end(1));
  BAD(VELOC_Restart("even", 1)); /* the same in one call, which is of all ranks */
  CHECK(VELOC_Restart_test("even", 0) == 1);
  if (rank == 1) GOOD(VELOC_Mem_protect(0, &state, 1, sizeof state));
  state = -1;
  GOOD(VELOC_Restart("even", 1));
  CHECK(state == rank);
  GOOD(VELOC_Checkpoint("even", 5));
  CHECK(VELOC_Restart_test("even", 0) == 5);
  GOOD(VELOC_Restart_begin("even", 5));
  BAD(VELOC_Restart_end(rank != 1)); /* one rank could not use it: an older one is next */
  CHECK(VELOC_Restart_test("even", 0) == 1);
  GOOD(VELOC_Restart("even", 1));
}

/* Ranks recover what they need when they need it: some in several calls, some in none, and with messages between. */
static void one_by_one(int from) {
  int step = 0, ids[2] = {1, 2};
  double cells[kCells] = {0}, sum = 0;
  char path[VELOC_MAX_NAME];
  GOOD(VELOC_Mem_protect(1, &step, 1, sizeof step));
  GOOD(VELOC_Mem_protect(2, cells, kCells, sizeof(double)));
  CHECK(VELOC_Restart_test("single", 0) == (from > 0 ? 30 : VELOC_IGNORED));
  if (from > 0) {
    GOOD(VELOC_Restart_begin("single", from));
    if (rank == 0) { /* tells the others, which wait for that */
      CHECK(VELOC_Recover_size(1) == sizeof step);
      GOOD(VELOC_Recover_selective(VELOC_RECOVER_SOME, ids, 1));
      CHECK(step == from && cells[1] == 0);
      for (int to = 1; to < size; ++to) MPI_Send(&step, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
      GOOD(VELOC_Recover_selective(VELOC_RECOVER_REST, ids, 1));
    } else {
      MPI_Recv(&step, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(step == from);
    }
    if (rank == 1) {
      BAD(VELOC_Route_file("", path)); /* only the last rank has one */
      for (int again = 0; again < 3; ++again) GOOD(VELOC_Recover_mem());
      step = from;
    }
    if (rank == size - 1) {
      GOOD(VELOC_Route_file("", path));
      FILE* file = fopen(path, "rb");
      CHECK(file != NULL && fread(cells, sizeof(double), kCells, file) == kCells);
      fclose(file);
    }
    GOOD(VELOC_Restart_end(1));
    CHECK(cells[1] == from + rank);
  }
  while (step < from + 30) {
    ++step;
    for (int i = 0; i < kCells; ++i) cells[i] = step + rank;
    if (step % kEvery != 0) continue;
    GOOD(VELOC_Checkpoint_begin("single", step));
    GOOD(VELOC_Checkpoint_mem());
    if (rank == size - 1) {
      GOOD(VELOC_Route_file("", path));
      FILE* file = fopen(path, "wb");
      CHECK(file != NULL && fwrite(cells, sizeof(double), kCells, file) == kCells);
      fclose(file);
    }
    GOOD(VELOC_Checkpoint_end(1));
  }
  MPI_Reduce(&cells[1], &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  CHECK(VELOC_Restart_test("single", 0) == step);
}

static void limit_files(rlim_t bytes) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  limit.rlim_cur = bytes == 0 ? limit.rlim_max : bytes;
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* Files cannot be written for a while: by all ranks, and by one. */
static void broken(void) {
  enum { kLarge = 1 << 20, kLimit = 1 << 16 };
  char* state = calloc(kLarge, 1);
  signal(SIGXFSZ, SIG_IGN);
  GOOD(VELOC_Mem_protect(0, state, kLarge, 1));
  GOOD(VELOC_Checkpoint("broken", 1));
  GOOD(VELOC_Checkpoint_wait());
  for (int some = 0; some < 2; ++some) {
    if (some == 0 || rank == 1) limit_files(kLimit);
    const int taken = VELOC_Checkpoint("broken", 2);
    const int waited = VELOC_Checkpoint_wait();
    CHECK(taken == VELOC_FAILURE || waited == VELOC_FAILURE);
    GOOD(VELOC_Checkpoint_wait()); /* an error is returned once */
    limit_files(0);
    MPI_Barrier(MPI_COMM_WORLD);
    state[7] = (char)(3 + some);
    GOOD(VELOC_Checkpoint("broken", 3 + some));
    GOOD(VELOC_Checkpoint_wait());
    CHECK(VELOC_Checkpoint_finished() == 1);
    state[7] = 0;
    GOOD(VELOC_Restart("broken", 3 + some));
    CHECK(state[7] == 3 + some);
  }
  /* A file that a rank has not written. */
  char path[VELOC_MAX_NAME];
  GOOD(VELOC_Checkpoint_begin("broken", 4));
  GOOD(VELOC_Checkpoint_mem());
  GOOD(VELOC_Route_file("", path));
  if (rank != 1) fclose(fopen(path, "w"));
  const int ended = VELOC_Checkpoint_end(1);
  const int then = VELOC_Checkpoint_wait();
  CHECK(ended == VELOC_FAILURE || then == VELOC_FAILURE);
  GOOD(VELOC_Checkpoint("broken", 5));
  GOOD(VELOC_Checkpoint_wait());
  free(state);
}

/* Takes checkpoints out of the scratch directory. */
static void cleaned(void) {
  int state = 8;
  GOOD(VELOC_Mem_protect(0, &state, 1, sizeof state));
  GOOD(VELOC_Checkpoint("cleaned", 4));
  GOOD(VELOC_Cleanup("cleaned"));
  told("cleaned up");
  state = 0;
  CHECK(VELOC_Restart_test("cleaned", 0) == 4);
  GOOD(VELOC_Restart("cleaned", 4));
  CHECK(state == 8);
}

/* Each rank has checkpoints of its own, at its own times. */
static void alone(const char* cfg) {
  int state = 10 + rank;
  GOOD(VELOC_Init_single((unsigned)rank, cfg));
  GOOD(VELOC_Mem_protect(0, &state, 1, sizeof state));
  for (int version = 1; version <= 1 + rank; ++version) GOOD(VELOC_Checkpoint("alone", version));
  CHECK(VELOC_Restart_test("alone", 0) == 1 + rank);
  state = 0;
  GOOD(VELOC_Restart("alone", 1));
  CHECK(state == 10 + rank);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* const what = argv[1];
  const int steps = argc > 3 ? atoi(argv[3]) : 0;
  int provided;
  MPI_Init_thread(&argc, &argv, strstr(what, "thread") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(what, "wrong") == 0) {
    BAD(VELOC_Mem_protect(0, &rank, 1, 4));
    BAD(VELOC_Checkpoint("state", 1));
    BAD(VELOC_Finalize(0));
    BAD(VELOC_Init(MPI_COMM_WORLD, "there/is/none.cfg"));
  }
  if (strcmp(what, "alone") == 0) {
    alone(argv[2]);
  } else if (VELOC_Init(MPI_COMM_WORLD, argv[2]) != VELOC_SUCCESS) {
    told("VELOC_Init has failed");
    MPI_Finalize();
    return 1;
  }
  if (strncmp(what, "memory", 6) == 0) in_memory(steps, 0, "memory");
  if (strncmp(what, "dies", 4) == 0) in_memory(steps, 1, "memory");
  if (strcmp(what, "unfinished") == 0) in_memory(steps, 0, "memory");
  if (strncmp(what, "file", 4) == 0) in_file(steps);
  if (strcmp(what, "older") == 0) older();
  if (strcmp(what, "older_again") == 0) older_again();
  if (strcmp(what, "selective") == 0) selective();
  if (strncmp(what, "names", 5) == 0) names();
  if (strcmp(what, "wrong") == 0) wrong();
  if (strcmp(what, "uneven") == 0) uneven();
  if (strncmp(what, "one_by_one", 10) == 0) one_by_one(steps);
  if (strncmp(what, "broken", 6) == 0) broken();
  if (strcmp(what, "cleaned") == 0) cleaned();
  if (strcmp(what, "unfinished") != 0) GOOD(VELOC_Finalize(1));
  if (strcmp(what, "wrong") == 0) BAD(VELOC_Checkpoint_wait());
  told("done");
  MPI_Finalize();
  return 0;
}
