/* cairn_run over real ranks: `c_run_test DIRECTORY` on 4 ranks, two nodes with a head each. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cairn/cairn.h>

#include "c_check.h"

/* Errors in the log of this process. */
struct heard {
  int errors;
  char last[1000];
};
static void hear(int level, const char* line, void* data) {
  struct heard* heard = data;
  if (level != CAIRN_LOG_ERROR) return;
  ++heard->errors;
  snprintf(heard->last, sizeof heard->last, "%s", line);
}
static struct heard heard;

/* Of all processes together: each tells what the others do not. */
static void check_one_line(const char* part, int line) {
  int lines = heard.errors;
  int found = strstr(heard.last, part) != NULL;
  MPI_Allreduce(MPI_IN_PLACE, &lines, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (lines != 1) fprintf(stderr, "%d lines, the last here: %s\n", lines, heard.last);
  check(lines == 1 && found == 1, __FILE__, line, part);
  memset(&heard, 0, sizeof heard);
}
#define CHECK_ONE_LINE(part) check_one_line((part), __LINE__)

struct work {
  int calls; /* of the function, in this process */
  int32_t steps;
  int32_t restored;
  int result;
  const char* region;
};

static int rank_of(cairn_session* session) {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = -1;
  int size = 0;
  CHECK(cairn_comm(session, &comm) == CAIRN_OK);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK(size == 2);
  return rank;
}

static int compute(cairn_session* session, void* argument) {
  struct work* work = argument;
  int32_t step = 0;
  ++work->calls;
  CHECK(rank_of(session) >= 0);
  CHECK(cairn_state(session) == CAIRN_FRESH);
  CHECK(cairn_protect(session, "step", &step, CAIRN_INT32, 1) == CAIRN_OK);
  CHECK(cairn_restore(session) == CAIRN_OK);
  work->restored = step;
  while (step < work->steps) {
    ++step;
    CHECK(cairn_snapshot(session, NULL) == CAIRN_OK);
  }
  return work->result;
}

/* Errors are codes, and what cairn_run does itself is refused. */
static int make_mistakes(cairn_session* session, void* argument) {
  struct work* work = argument;
  cairn_session* same = session;
  ++work->calls;
  CHECK_ERROR(cairn_unprotect(session, "nobody"), CAIRN_ERR_USAGE, "nobody");
  CHECK_ERROR(cairn_finalize(&same), CAIRN_ERR_USAGE, "leave this call out");
  CHECK_ERROR(cairn_recover(session), CAIRN_ERR_USAGE, "leave this call out");
  cairn_abandon(&same);
  CHECK(strstr(cairn_error_text(), "another number than 0") != NULL);
  CHECK(same == session && cairn_failed(session) == 0 && cairn_should_stop(session) == 0);
  return compute(session, argument);
}

/* Its error is that of a Cairn call, which the log has already. */
static int restore_another_region(cairn_session* session, void* argument) {
  struct work* work = argument;
  int32_t step = 0;
  ++work->calls;
  CHECK(cairn_protect(session, work->region, &step, CAIRN_INT32, 1) == CAIRN_OK);
  return cairn_restore(session);
}

static int never(cairn_part* part, void* data) {
  (void)part;
  (void)data;
  return CAIRN_ERR_USAGE;
}

static void write_config(const char* path, const char* directory) {
  mkdir(directory, 0700);
  FILE* file = fopen(path, "w");
  CHECK(file != NULL);
  fprintf(file, "[job]\nname = c-run\n[storage]\nlocal = %s/local\nglobal = %s/global\n", directory, directory);
  fprintf(file,
          "[levels]\nl1 = every 1\n[head]\nmode = rank\n[topology]\nnode_size = 2\n[restart]\nat_end = continue\n");
  CHECK(fclose(file) == 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 2);
  int world_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  const int computes = world_rank % 2 == 0; /* the others are heads */
  char config[4096];
  snprintf(config, sizeof config, "%s/c_run.ini", argv[1]);
  if (world_rank == 0) write_config(config, argv[1]);
  cairn_set_log(hear, &heard);
  struct work work = {0, 5, 0, 0, "other"};

  CHECK_ERROR(cairn_run(MPI_COMM_WORLD, "/nowhere/cairn.ini", compute, &work), 1, "/nowhere/cairn.ini");
  CHECK(work.calls == 0);
  CHECK_ONE_LINE("/nowhere/cairn.ini");

  CHECK(cairn_run(MPI_COMM_WORLD, config, NULL, &work) == computes);
  CHECK(!computes || strstr(cairn_error_text(), "the function is NULL") != NULL);
  CHECK_ONE_LINE("the function is NULL");

  CHECK(cairn_run(MPI_COMM_WORLD, config, compute, &work) == 0);
  CHECK(work.calls == computes && work.restored == 0);
  work.steps = 8;
  CHECK(cairn_run_with_helpers(MPI_COMM_WORLD, config, compute, &work, never, NULL) == 0);
  CHECK(work.calls == 2 * computes && work.restored == 5 * computes);
  CHECK(heard.errors == 0);

  work.result = 3;
  CHECK(cairn_run(MPI_COMM_WORLD, config, compute, &work) == computes);
  CHECK(!computes || strstr(cairn_error_text(), "returned 3") != NULL);
  CHECK_ONE_LINE("the function that cairn_run called returned 3");

  work.result = 0;
  CHECK(cairn_run(MPI_COMM_WORLD, config, make_mistakes, &work) == 0);
  CHECK(work.restored == 8 * computes);
  memset(&heard, 0, sizeof heard);

  CHECK(cairn_run(MPI_COMM_WORLD, config, restore_another_region, &work) == computes);
  CHECK(!computes || strstr(cairn_error_text(), "other int32") != NULL);
  CHECK_ONE_LINE("other int32");
  MPI_Finalize();
  return 0;
}
