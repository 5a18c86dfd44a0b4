/* The C API over real ranks, from C. Two runs on 4 ranks: `c_api_test first DIRECTORY` starts anew and takes snapshots,
 * `c_api_test second DIRECTORY` goes on from them. Heads do nothing but serve. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cairn/cairn.h>

#include "c_check.h"

enum { kCells = 1000, kRows = 3, kCols = 4 };

typedef struct {
  double x;
  int32_t id;
} Particle;

typedef struct {
  double plate[kCells];
  int32_t table[kRows][kCols];
  Particle particles[2];
  int32_t step;
  int32_t scratch;
} State;

/* Arrays that the program reaches by pointers: two that it swaps at each step, and others that it allocates again. */
typedef struct {
  double* now;
  double* before;
  int32_t* part;
  Particle* particle;
} Pointers;
static Pointers pointers;

static void fill_pointers(int rank, int step) {
  double* const now = pointers.before;
  pointers.before = pointers.now;
  pointers.now = now;
  for (int i = 0; i < kCells; ++i) pointers.now[i] = rank + step * 1e3 + i;
  for (int i = 0; i < kCells; ++i) pointers.before[i] = pointers.now[i] - 0.5;
  int32_t* const part = malloc(kCols * sizeof(int32_t)); /* before the others are freed: elsewhere */
  Particle* const particle = calloc(1, sizeof(Particle));
  free(pointers.part);
  free(pointers.particle);
  pointers.part = part;
  pointers.particle = particle;
  for (int i = 0; i < kCols; ++i) part[i] = step * 10 + i;
  particle->x = step;
  particle->id = rank;
}

static void allocate_pointers(void) {
  pointers.now = calloc(kCells, sizeof(double));
  pointers.before = calloc(kCells, sizeof(double));
  pointers.part = calloc(kCols, sizeof(int32_t));
  pointers.particle = calloc(1, sizeof(Particle));
}

static void free_pointers(void) {
  free(pointers.now);
  free(pointers.before);
  free(pointers.part);
  free(pointers.particle);
}

static int are_pointers_of_step(int rank, int step) {
  for (int i = 0; i < kCells; ++i) {
    const double now = rank + step * 1e3 + i;
    if (pointers.now[i] != now || pointers.before[i] != now - 0.5) return 0;
  }
  for (int i = 0; i < kCols; ++i) {
    if (pointers.part[i] != step * 10 + i) return 0;
  }
  return pointers.particle->x == step && pointers.particle->id == rank;
}

static void fill(State* state, int rank, int step) {
  for (int i = 0; i < kCells; ++i) state->plate[i] = rank * 1e6 + step * 1e3 + i;
  for (int i = 0; i < kRows * kCols; ++i) state->table[i / kCols][i % kCols] = rank + step * i;
  for (int i = 0; i < 2; ++i) {
    memset(&state->particles[i], 0, sizeof(Particle));
    state->particles[i].x = step + 0.5 * i;
    state->particles[i].id = rank;
  }
  state->step = step;
}

/* A list, which is no plain memory: as many numbers as there were steps. */
struct node {
  int32_t number;
  struct node* next;
};
static struct {
  struct node* first;
  int cannot; /* save or load it */
} list;

static void empty_list(void) {
  while (list.first != NULL) {
    struct node* const next = list.first->next;
    free(list.first);
    list.first = next;
  }
}

static void prepend(int32_t number) {
  struct node* const node = malloc(sizeof *node);
  node->number = number;
  node->next = list.first;
  list.first = node;
}

static void fill_list(int rank, int step) {
  empty_list();
  for (int i = 1; i <= step; ++i) prepend(rank * 100 + i);
}

static int is_list_of_step(int rank, int step) {
  for (const struct node* node = list.first; node != NULL; node = node->next) {
    if (node->number != rank * 100 + step--) return 0;
  }
  return step == 0;
}

static int save_list(cairn_object* object, void* data) {
  CHECK(data == &list);
  for (const struct node* node = list.first; node != NULL; node = node->next)
    CHECK(cairn_put(object, &node->number, sizeof node->number) == CAIRN_OK);
  CHECK_ERROR(cairn_put(object, NULL, 1), CAIRN_ERR_USAGE, "NULL");
  return list.cannot;
}

static int load_list(const void* bytes, size_t count, void* data) {
  CHECK(data == &list && count % sizeof(int32_t) == 0);
  empty_list();
  for (size_t end = count; end > 0; end -= sizeof(int32_t)) {
    int32_t number = 0;
    memcpy(&number, (const char*)bytes + end - sizeof number, sizeof number);
    prepend(number);
  }
  return list.cannot;
}

/* A file of this rank, with as many lines as there were steps; and one more, in a directory of this rank. */
static char lines_path[300];
static char out_path[300];
static char in_out_path[310];
static const char* scratch_path; /* of a file that each snapshot removes */

static void fill_lines(const char* path, int step) {
  FILE* const file = fopen(path, "w");
  CHECK(file != NULL);
  for (int i = 1; i <= step; ++i) fprintf(file, "line %d\n", i);
  CHECK(fclose(file) == 0);
}

static int are_lines_of_step(const char* path, int step) {
  int count = 0;
  FILE* const file = fopen(path, "r");
  if (file == NULL) return 0;
  for (int c = getc(file); c != EOF; c = getc(file)) count += c == '\n';
  fclose(file);
  return count == step;
}

static void compute(State* state, int rank, int step) {
  fill(state, rank, step);
  fill_pointers(rank, step);
  fill_list(rank, step);
  fill_lines(lines_path, step);
  fill_lines(in_out_path, step);
  fill_lines(scratch_path, step);
}

static int is_of_step(const State* state, int rank, int step) {
  State expected;
  fill(&expected, rank, step);
  return are_pointers_of_step(rank, step) && is_list_of_step(rank, step) && are_lines_of_step(lines_path, step) &&
         are_lines_of_step(in_out_path, step) && are_lines_of_step(scratch_path, step) &&
         memcmp(state->plate, expected.plate, sizeof expected.plate) == 0 &&
         memcmp(state->table, expected.table, sizeof expected.table) == 0 &&
         memcmp(state->particles, expected.particles, sizeof expected.particles) == 0 && state->step == step;
}

static void protect(cairn_session* session, State* state) {
  const size_t shape[] = {kRows, kCols};
  const size_t whole[] = {2 * kRows, kCols}; /* of both ranks */
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  CHECK(cairn_comm(session, &comm) == CAIRN_OK);
  MPI_Comm_rank(comm, &rank);
  const size_t offset[] = {(size_t)rank * kRows, 0};
  CHECK(cairn_protect(session, "plate", state->plate, CAIRN_DOUBLE, kCells) == CAIRN_OK);
  CHECK(cairn_protect_part(session, "table", state->table, CAIRN_INT32, 2, shape, whole, offset) == CAIRN_OK);
  CHECK(cairn_protect_opaque(session, "particles", state->particles, "Particle", sizeof(Particle), 2) == CAIRN_OK);
  CHECK(cairn_protect_array(session, "step", &state->step, CAIRN_INT32, 0, NULL) == CAIRN_OK);
  CHECK(cairn_protect(session, "scratch", &state->scratch, CAIRN_INT32, 1) == CAIRN_OK);
  CHECK(cairn_unprotect(session, "scratch") == CAIRN_OK);
  CHECK(cairn_protect_object(session, "list", save_list, load_list, &list) == CAIRN_OK);
  CHECK(cairn_kind_of_rank(session, "list", (uint32_t)rank) == CAIRN_OK);
  CHECK(cairn_protect_file(session, "lines", lines_path) == CAIRN_OK);
  CHECK(cairn_protect_directory(session, "out", out_path) == CAIRN_OK);
  CHECK(cairn_scratch_file(session, "lines.dat", &scratch_path) == CAIRN_OK);
  const char* again = NULL;
  CHECK(cairn_scratch_file(session, "lines.dat", &again) == CAIRN_OK && again == scratch_path);
  CHECK(cairn_kind_of_rank(session, "lines.dat", (uint32_t)rank) == CAIRN_OK);
  CHECK(strstr(scratch_path, "/lines.dat") != NULL && !are_lines_of_step(scratch_path, 0)); /* there is none */

  const size_t rows[] = {2, kCells / 2};
  const size_t part[] = {kCols};
  const size_t parts[] = {2 * kCols};
  const size_t at[] = {(size_t)rank * kCols};
  CHECK(cairn_protect_pointer(session, "now", &pointers.now, CAIRN_DOUBLE, kCells) == CAIRN_OK);
  CHECK(cairn_protect_pointer_array(session, "before", &pointers.before, CAIRN_DOUBLE, 2, rows) == CAIRN_OK);
  CHECK(cairn_protect_pointer_part(session, "part", &pointers.part, CAIRN_INT32, 1, part, parts, at) == CAIRN_OK);
  CHECK(cairn_protect_pointer_opaque(session, "particle", &pointers.particle, "Particle", sizeof(Particle), 1) ==
        CAIRN_OK);
}

static void check_version(void) {
  CHECK(cairn_version() == CAIRN_VERSION);
  CHECK(strstr(cairn_build_info(), "Cairn " CAIRN_VERSION_TEXT) == cairn_build_info());
  CHECK(strstr(cairn_build_info(), "HDF5 1.") != NULL);
  CHECK(CAIRN_VERSION == CAIRN_VERSION_MAJOR * 10000 + CAIRN_VERSION_MINOR * 100 + CAIRN_VERSION_PATCH);
}

static void check_wrong_arguments(cairn_session* session) {
  int value = 0;
  uint32_t version = 77;
  cairn_restore_status status;
  cairn_session* none = NULL;
  CHECK_ERROR(cairn_init(MPI_COMM_WORLD, NULL, NULL), CAIRN_ERR_USAGE, "session is NULL");
  CHECK_ERROR(cairn_protect(NULL, "a", &value, CAIRN_INT32, 1), CAIRN_ERR_USAGE, "the session is NULL");
  CHECK_ERROR(cairn_protect(session, NULL, &value, CAIRN_INT32, 1), CAIRN_ERR_USAGE, "no name");
  CHECK_ERROR(cairn_protect(session, "a/b", &value, CAIRN_INT32, 1), CAIRN_ERR_USAGE, "a/b");
  CHECK_ERROR(cairn_protect(session, "a", &value, (cairn_type)99, 1), CAIRN_ERR_USAGE, "type 99");
  CHECK_ERROR(cairn_protect_array(session, "a", &value, CAIRN_INT32, 2, NULL), CAIRN_ERR_USAGE, "no shape");
  CHECK_ERROR(cairn_protect_array(session, "a", &value, CAIRN_INT32, -1, NULL), CAIRN_ERR_USAGE, "no shape");
  CHECK_ERROR(cairn_protect_opaque(session, "a", &value, "T", 0, 1), CAIRN_ERR_USAGE, "element size");
  CHECK_ERROR(cairn_protect_pointer(session, "a", NULL, CAIRN_INT32, 1), CAIRN_ERR_USAGE, "&array");
  CHECK_ERROR(cairn_protect_pointer_array(session, "a", NULL, CAIRN_INT32, 0, NULL), CAIRN_ERR_USAGE, "&array");
  CHECK_ERROR(cairn_protect_pointer_part(session, "a", &pointers.part, CAIRN_INT32, 1, NULL, NULL, NULL),
              CAIRN_ERR_USAGE, "offset");
  CHECK_ERROR(cairn_protect_pointer_opaque(session, "a", &pointers.part, "T", 0, 1), CAIRN_ERR_USAGE, "element size");
  CHECK_ERROR(cairn_protect_object(session, "a", NULL, load_list, NULL), CAIRN_ERR_USAGE, "is empty");
  CHECK_ERROR(cairn_protect_file(session, "a", NULL), CAIRN_ERR_USAGE, "is empty");
  const char* path = "";
  CHECK_ERROR(cairn_destination(session, "a", "there"), CAIRN_ERR_USAGE, "\"a\"");
  CHECK_ERROR(cairn_scratch_file(session, "a", NULL), CAIRN_ERR_USAGE, "path is NULL");
  CHECK_ERROR(cairn_scratch_file(session, "../a", &path), CAIRN_ERR_USAGE, "../a");
  CHECK(path == NULL);
  CHECK_ERROR(cairn_protect_directory(session, "a", ""), CAIRN_ERR_USAGE, "is empty");
  CHECK_ERROR(cairn_kind_sequence(session, "out"), CAIRN_ERR_USAGE, "a directory");
  CHECK_ERROR(cairn_kind_sequence(session, "list"), CAIRN_ERR_USAGE, "no sequence");
  CHECK_ERROR(cairn_put(NULL, "a", 1), CAIRN_ERR_USAGE, "NULL");
  CHECK_ERROR(cairn_unprotect(session, "nobody"), CAIRN_ERR_USAGE, "nobody");
  CHECK_ERROR(cairn_snapshot(NULL, &version), CAIRN_ERR_USAGE, "the session is NULL");
  CHECK(version == 0);
  CHECK_ERROR(cairn_snapshot_to(session, 5, &version), CAIRN_ERR_USAGE, "level 5");
  CHECK_ERROR(cairn_snapshot_to(session, CAIRN_L3, &version), CAIRN_ERR_USAGE, "L3 is off");
  CHECK_ERROR(cairn_wait(session, 0), CAIRN_ERR_USAGE, "level 0");
  CHECK_ERROR(cairn_safe_version(session, 5, NULL), CAIRN_ERR_USAGE, "level 5");
  CHECK_ERROR(cairn_restore_info(session, NULL), CAIRN_ERR_USAGE, "status is NULL");
  CHECK_ERROR(cairn_restore_info(NULL, &status), CAIRN_ERR_USAGE, "the session is NULL");
  CHECK_ERROR(cairn_restore_region(session, ""), CAIRN_ERR_USAGE, "empty");
  CHECK_ERROR(cairn_restore_version(session, 0), CAIRN_ERR_USAGE, "version 0");
  CHECK_ERROR(cairn_restore_label(session, "5"), CAIRN_ERR_USAGE, "taken for a version");
  CHECK_ERROR(cairn_label(session, NULL), CAIRN_ERR_USAGE, "empty");
  CHECK_ERROR(cairn_pin(NULL), CAIRN_ERR_USAGE, "the session is NULL");
  CHECK_ERROR(cairn_attribute_number(session, NULL, NULL, 1), CAIRN_ERR_USAGE, "empty");
  CHECK_ERROR(cairn_attribute_whole(NULL, NULL, "a", 1), CAIRN_ERR_USAGE, "the session is NULL");
  CHECK(strcmp(cairn_restored_label(NULL), "") == 0);
  CHECK_ERROR(cairn_comm(session, NULL), CAIRN_ERR_USAGE, "comm is NULL");
  CHECK_ERROR(cairn_due(session, NULL), CAIRN_ERR_USAGE, "due is NULL");
  CHECK_ERROR(cairn_stored_elements(session, "plate", NULL), CAIRN_ERR_USAGE, "count is NULL");
  const size_t one = 1;
  const size_t two = 2;
  CHECK_ERROR(cairn_protect_part(session, "a", &value, CAIRN_INT32, 1, &one, &two, &two), CAIRN_ERR_USAGE,
              "do not fit a global array");
  CHECK_ERROR(cairn_protect_part(session, "a", &value, CAIRN_INT32, 1, NULL, NULL, NULL), CAIRN_ERR_USAGE, "offset");
  CHECK_ERROR(cairn_finalize(NULL), CAIRN_ERR_USAGE, "NULL");
  CHECK_ERROR(cairn_finalize(&none), CAIRN_ERR_USAGE, "NULL");
  CHECK(cairn_should_stop(session) == 0);
  CHECK(cairn_should_stop(NULL) == 0);
  cairn_abandon(NULL);
  cairn_abandon(&none);
}

static int rank_of(cairn_session* session) {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = -1;
  int size = 0;
  CHECK(cairn_comm(session, &comm) == CAIRN_OK);
  CHECK(cairn_watch(session, comm) == CAIRN_OK);
  CHECK(cairn_watch(session, MPI_COMM_NULL) == CAIRN_OK);
  CHECK_ERROR(cairn_watch(NULL, comm), CAIRN_ERR_USAGE, "the session is NULL");
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK(size == 2);
  return rank;
}

static void run_first(cairn_session* session, State* state) {
  cairn_restore_status status;
  uint32_t version = 0;
  const int rank = rank_of(session);
  CHECK(cairn_restore(session) == CAIRN_OK);
  CHECK(cairn_restore_info(session, &status) == CAIRN_OK);
  CHECK(status.restored == 0);
  check_wrong_arguments(session);

  CHECK(cairn_suspect(session, "this is a test") == CAIRN_OK);
  CHECK_ERROR(cairn_suspect(session, ""), CAIRN_ERR_USAGE, "empty");
  CHECK_ERROR(cairn_suspect(session, NULL), CAIRN_ERR_USAGE, "empty");

  int due = 1;
  compute(state, rank, 1);
  CHECK(cairn_due(session, &due) == CAIRN_OK && due == 0);
  CHECK(cairn_snapshot(session, &version) == CAIRN_OK);
  CHECK(version == 0); /* not due */
  compute(state, rank, 2);
  CHECK(cairn_due(session, &due) == CAIRN_OK && due == 1);
  CHECK(cairn_snapshot(session, &version) == CAIRN_OK);
  CHECK(version == 1);
  CHECK(cairn_wait(session, CAIRN_L1) == CAIRN_OK);

  /* Back to step 2: one region, then all. */
  compute(state, rank, 3);
  CHECK(cairn_restore_region(session, "step") == CAIRN_OK);
  CHECK(state->step == 2);
  CHECK(state->plate[1] == rank * 1e6 + 3 * 1e3 + 1);
  CHECK(cairn_restore(session) == CAIRN_OK);
  CHECK(is_of_step(state, rank, 2));

  compute(state, rank, 4);
  CHECK(cairn_snapshot_to(session, CAIRN_L2, &version) == CAIRN_OK);
  CHECK(version == 2);
  CHECK(cairn_wait(session, CAIRN_L2) == CAIRN_OK);
  CHECK(cairn_safe_version(session, CAIRN_L2, &version) == CAIRN_OK && version == 2);
  CHECK(cairn_safe_version(session, CAIRN_L3, &version) == CAIRN_OK && version == 0);
  compute(state, rank, 5);
  CHECK(cairn_label(session, "step 5") == CAIRN_OK);
  CHECK(cairn_attribute_number(session, NULL, "time", 0.5) == CAIRN_OK);
  CHECK(cairn_attribute_whole(session, NULL, "cells", kCells) == CAIRN_OK);
  CHECK(cairn_attribute_text(session, "plate", "units", "K") == CAIRN_OK);
  CHECK(cairn_snapshot_to(session, CAIRN_L1, NULL) == CAIRN_OK);
  CHECK(!are_lines_of_step(scratch_path, 5));
}

/* Versions 2, of step 4, and 3 with the label "step 5" are there. */
static void read_snapshots(cairn_session* session, int rank) {
  cairn_session* same = session;
  cairn_reader* reader = NULL;
  cairn_reader_status status;
  cairn_region_info region;
  double plate[kCells];
  size_t bytes = 0;
  int all_good = 0;
  CHECK_ERROR(cairn_open_snapshot(NULL, 2, NULL, &reader), CAIRN_ERR_USAGE, "the session is NULL");
  CHECK_ERROR(cairn_open_snapshot(session, 2, NULL, NULL), CAIRN_ERR_USAGE, "reader is NULL");
  CHECK_ERROR(cairn_open_snapshot(session, 2, "step 5", &reader), CAIRN_ERR_USAGE, "not both");
  CHECK_ERROR(cairn_open_snapshot(session, 9, NULL, &reader), CAIRN_ERR_UNRECOVERABLE, "no version 9");
  CHECK_ERROR(cairn_open_snapshot(session, 0, "other", &reader), CAIRN_ERR_UNRECOVERABLE, "\"step 5\" (version ");
  CHECK(reader == NULL);
  CHECK(cairn_open_snapshot(session, 2, NULL, &reader) == CAIRN_OK);
  CHECK(cairn_reader_info(reader, &status) == CAIRN_OK);
  CHECK(status.version == 2 && status.incarnation == 1 && strcmp(status.label, "") == 0);
  CHECK(cairn_reader_region(reader, 0, &region) == CAIRN_OK);
  CHECK(strcmp(region.name, "plate") == 0 && strcmp(region.type_text, "float64[1000]") == 0);
  CHECK(region.type == CAIRN_DOUBLE && region.element_bytes == sizeof(double));
  CHECK(region.elements == kCells && region.bytes == sizeof plate);
  CHECK(region.dimensions == 1 && region.shape[0] == kCells);
  CHECK_ERROR(cairn_reader_region(reader, status.regions, &region), CAIRN_ERR_USAGE, "counted from 0");
  CHECK(cairn_reader_read(reader, "plate", plate, sizeof plate, &bytes) == CAIRN_OK);
  CHECK(bytes == sizeof plate && plate[1] == rank * 1e6 + 4 * 1e3 + 1);
  CHECK_ERROR(cairn_reader_read(reader, "plate", plate, 16, NULL), CAIRN_ERR_USAGE, "8000 bytes");
  CHECK_ERROR(cairn_reader_read(reader, "nothing", plate, 16, NULL), CAIRN_ERR_USAGE, "it has: plate");
  CHECK_ERROR(cairn_reader_extract(reader, "plate", "copy"), CAIRN_ERR_USAGE, "it is no file");
  CHECK_ERROR(cairn_reader_extract(NULL, "plate", "copy"), CAIRN_ERR_USAGE, "NULL");
  CHECK_ERROR(cairn_finalize(&same), CAIRN_ERR_USAGE, "a reader is open");
  CHECK(same == session);
  CHECK(cairn_reader_close(&reader, 1, &all_good) == CAIRN_OK);
  CHECK(all_good == 1 && reader == NULL);
  CHECK_ERROR(cairn_reader_close(&reader, 1, NULL), CAIRN_ERR_USAGE, "NULL");
  CHECK_ERROR(cairn_reader_info(NULL, &status), CAIRN_ERR_USAGE, "NULL");
  CHECK(cairn_open_snapshot(session, 0, "step 5", &reader) == CAIRN_OK);
  CHECK(cairn_reader_info(reader, &status) == CAIRN_OK && status.version == 3);
  CHECK(strcmp(status.label, "step 5") == 0);
  CHECK(cairn_reader_close(&reader, rank != 1, &all_good) == CAIRN_OK && all_good == 0);
  CHECK_ERROR(cairn_open_snapshot(session, 3, NULL, &reader), CAIRN_ERR_UNRECOVERABLE, "version 3 was rejected");
  CHECK(cairn_open_snapshot(session, 0, NULL, &reader) == CAIRN_OK);
  CHECK(cairn_reader_info(reader, &status) == CAIRN_OK && status.version == 2);
  cairn_reader_drop(&reader);
  cairn_reader_drop(&reader);
  cairn_reader_drop(NULL);
  CHECK(reader == NULL);
}

static void run_second(cairn_session* session, State* state) {
  cairn_restore_status status;
  const int rank = rank_of(session);
  size_t count = 0;
  CHECK(cairn_stored_elements(session, "plate", &count) == CAIRN_OK && count == kCells);
  CHECK(cairn_stored_elements(session, "table", &count) == CAIRN_OK && count == kRows * kCols);
  CHECK(cairn_stored_elements(session, "nothing", &count) == CAIRN_OK && count == 0);
  CHECK(cairn_restore(session) == CAIRN_OK);
  CHECK(is_of_step(state, rank, 5));
  CHECK(cairn_restore_info(session, &status) == CAIRN_OK);
  CHECK(status.restored == 1);
  CHECK(status.version == 3);
  CHECK(status.ranks_from[0] == 2 && status.ranks_from[1] == 0 && status.ranks_from[3] == 0);
  CHECK(status.my_level == CAIRN_L1);
  CHECK(status.lost_nodes == 0);

  /* Another type is refused, and with it snapshots, until a restore goes well. */
  CHECK(cairn_protect(session, "step", &state->step, CAIRN_UINT32, 1) == CAIRN_OK);
  CHECK_ERROR(cairn_restore(session), CAIRN_ERR_MISMATCH, "step uint32");
  CHECK_ERROR(cairn_snapshot_to(session, CAIRN_L1, NULL), CAIRN_ERR_MISMATCH, "a restore failed");
  CHECK(cairn_protect_array(session, "step", &state->step, CAIRN_INT32, 0, NULL) == CAIRN_OK);
  CHECK(cairn_restore(session) == CAIRN_OK);
  CHECK(is_of_step(state, rank, 5));

  double* const now = pointers.now;
  pointers.now = NULL;
  CHECK_ERROR(cairn_restore(session), CAIRN_ERR_USAGE, "null pointer");
  pointers.now = now;
  CHECK(cairn_restore(session) == CAIRN_OK);
  CHECK(is_of_step(state, rank, 5));

  list.cannot = rank == 1 ? 5 : 0;
  CHECK_ERROR(cairn_restore(session), CAIRN_ERR_MISMATCH, "rank 1: object \"list\": load(): it has returned 5");
  CHECK_ERROR(cairn_snapshot_to(session, CAIRN_L1, NULL), CAIRN_ERR_MISMATCH, "a restore failed");
  list.cannot = 0;
  CHECK(cairn_restore(session) == CAIRN_OK);
  CHECK(is_of_step(state, rank, 5));

  CHECK_ERROR(cairn_restore_label(session, "other"), CAIRN_ERR_UNRECOVERABLE, "\"step 5\" (version ");
  CHECK(cairn_restore_label(session, "step 5") == CAIRN_OK);
  CHECK(strcmp(cairn_restored_label(session), "step 5") == 0);
  CHECK(is_of_step(state, rank, 5));
  CHECK_ERROR(cairn_restore_version(session, 9), CAIRN_ERR_UNRECOVERABLE, "no version 9");
  CHECK(cairn_restore_version(session, 2) == CAIRN_OK);
  CHECK(is_of_step(state, rank, 4));
  compute(state, rank, 6);
  CHECK(cairn_restore(session) == CAIRN_OK); /* of the branch of version 2 */
  CHECK(is_of_step(state, rank, 4));
  read_snapshots(session, rank);
}

/* Files of more than so many bytes cannot be written, as on a full disk. */
static void limit_files(rlim_t bytes) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
  limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

/* A snapshot that does not fit is an error of wait and finalize, and of no other call. */
static void run_out_of_space(cairn_session* session) {
  static char large[1 << 20];
  CHECK(strcmp(cairn_storage_error(NULL), "") == 0);
  CHECK(strcmp(cairn_storage_error(session), "") == 0);
  CHECK(cairn_unprotect(session, "lines.dat") == CAIRN_OK); /* nobody writes it here */
  CHECK(cairn_protect(session, "large", large, CAIRN_BYTE, sizeof large) == CAIRN_OK);
  limit_files(100 * 1024);
  CHECK(cairn_snapshot_to(session, CAIRN_L1, NULL) == CAIRN_OK);
  CHECK_ERROR(cairn_wait(session, CAIRN_L1), CAIRN_ERR_STORAGE, "is abandoned");
  CHECK(strstr(cairn_storage_error(session), "File too large") != NULL);
  limit_files(RLIM_INFINITY);
  list.cannot = 6;
  CHECK(cairn_snapshot_to(session, CAIRN_L1, NULL) == CAIRN_OK);
  CHECK_ERROR(cairn_wait(session, CAIRN_L1), CAIRN_ERR_STORAGE, "is abandoned");
  CHECK(strstr(cairn_storage_error(session), "object \"list\": save(): it has returned 6") != NULL);
  list.cannot = 0;
  CHECK(cairn_snapshot_to(session, CAIRN_L1, NULL) == CAIRN_OK);
  CHECK(cairn_wait(session, CAIRN_L1) == CAIRN_OK);
  limit_files(100 * 1024);
  static char larger[2 << 20];
  CHECK(cairn_protect(session, "larger", larger, CAIRN_BYTE, sizeof larger) == CAIRN_OK);
  CHECK(cairn_snapshot_to(session, CAIRN_L1, NULL) == CAIRN_OK);
}

/* What the log has said. */
struct heard {
  int lines;
  int errors;
  char last_error[1000];
};
static void hear(int level, const char* line, void* data) {
  struct heard* heard = data;
  ++heard->lines;
  if (level != CAIRN_LOG_ERROR) return;
  ++heard->errors;
  snprintf(heard->last_error, sizeof heard->last_error, "%s", line);
}

static void write_config(const char* path, const char* directory, int first) {
  FILE* file = fopen(path, "w");
  CHECK(file != NULL);
  fprintf(file, "[job]\nname = c-api\n[storage]\nlocal = %s/local\nglobal = %s/global\n", directory, directory);
  fprintf(file,
          "[levels]\nl1 = every 2\nl2 = every 100\nl4 = every 100\n[head]\nmode = rank\n[topology]\nnode_size = 2\n");
  fprintf(file, "[restart]\nat_end = continue\nmode = %s\n", first ? "fresh" : "required");
  CHECK(fclose(file) == 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  const int first = strcmp(argv[1], "first") == 0;
  int world_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  char config[4096];
  snprintf(config, sizeof config, "%s/%s.ini", argv[2], argv[1]);
  snprintf(lines_path, sizeof lines_path, "%s/lines%d", argv[2], world_rank);
  snprintf(out_path, sizeof out_path, "%s/out%d", argv[2], world_rank);
  snprintf(in_out_path, sizeof in_out_path, "%s/lines", out_path);
  mkdir(argv[2], 0700); /* another rank or the first run may have made it */
  if (first) CHECK(mkdir(out_path, 0700) == 0);
  if (world_rank == 0) write_config(config, argv[2], first);

  check_version();
  static struct heard heard;
  cairn_set_log(hear, &heard);
  cairn_session* session = NULL;
  CHECK_ERROR(cairn_init(MPI_COMM_WORLD, "/nowhere/cairn.ini", &session), CAIRN_ERR_CONFIG, "/nowhere/cairn.ini");
  CHECK(session == NULL);
  CHECK(heard.errors == (world_rank == 0 ? 1 : 0));
  CHECK(world_rank != 0 || strstr(heard.last_error, "/nowhere/cairn.ini") != NULL);

  static State state;
  allocate_pointers();
  const int code = cairn_init(MPI_COMM_WORLD, config, &session);
  if (code == CAIRN_HEAD) {
    CHECK(world_rank % 2 == 1);
    CHECK(world_rank != 1 || heard.lines > 0); /* the first head tells what the job is */
    CHECK(session == NULL);
  } else {
    CHECK(code == CAIRN_OK);
    CHECK(world_rank % 2 == 0);
    protect(session, &state);
    MPI_Comm comm = MPI_COMM_NULL;
    int sum = 1;
    CHECK(cairn_comm(session, &comm) == CAIRN_OK);
    if (first) {
      run_first(session, &state);
      CHECK(cairn_finalize(&session) == CAIRN_OK);
    } else {
      run_second(session, &state);
      run_out_of_space(session);
      CHECK_ERROR(cairn_finalize(&session), CAIRN_ERR_STORAGE, "is abandoned");
    }
    CHECK(session == NULL);
    /* Of the ranks that compute, two of four. */
    CHECK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == 2);
  }
  free_pointers();
  MPI_Finalize();
  return 0;
}
