/* The kinds of the C API over real ranks. Each run, on another number of ranks than the one before, restores what that
 * has written, and writes the next step:
 *
 *   kinds CONFIG STEP     STEP: of the snapshot, 0 for none; -1: the restore must be refused */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/cairn.h>

#include "c_check.h"

enum { kIds = 11, kTable = 13, kRows = 7, kCols = 5, kPoints = 17, kNotes = 3 };

typedef struct {
  size_t first;
  size_t count;
} Range;

static Range share_of(int all, int part, int parts) {
  const size_t begin = (size_t)(all * part / parts);
  const Range range = {begin, (size_t)(all * (part + 1) / parts) - begin};
  return range;
}

typedef struct {
  int rank;
  int size;
  int32_t step;
  size_t count; /* of ids */
  uint64_t* ids;
  double* x; /* two for each id */
  Range table_part;
  int32_t* table;
  Range rows;
  double* plate; /* with a row of ghosts above and below, and a column at the left */
  Range points;
  float* line; /* with a ghost on each side */
  int16_t notes[kNotes];
} State;

static double value(size_t i, int step) { return (double)(1000 * step) + (double)i; }

/* On a fresh start the last rank has all ids but one of each other rank. */
static void find_count(cairn_session* session, State* state) {
  size_t total = 77;
  CHECK(cairn_stored_total(session, "ids", &total) == CAIRN_OK);
  state->count = state->rank + 1 < state->size ? 1 : (size_t)(kIds - state->size + 1);
  if (total == 0) return;
  CHECK(total == kIds);
  CHECK(cairn_stored_elements(session, "ids", &state->count) == CAIRN_OK);
  CHECK(cairn_stored_total(session, "x", &total) == CAIRN_OK && total == 2 * kIds);
  CHECK(cairn_stored_total(session, "nothing", &total) == CAIRN_OK && total == 0);
}

static void allocate(State* state) {
  state->ids = calloc(state->count + 1, sizeof *state->ids);
  state->x = calloc(2 * state->count + 1, sizeof *state->x);
  /* Not an equal share: the last rank gets most. */
  state->table_part = share_of(kTable, state->rank * state->rank, state->size * state->size);
  state->table_part.count = share_of(kTable, (state->rank + 1) * (state->rank + 1), state->size * state->size).first -
                            state->table_part.first;
  state->table = calloc(state->table_part.count + 1, sizeof *state->table);
  state->rows = share_of(kRows, state->rank, state->size);
  state->plate = calloc((state->rows.count + 2) * (kCols + 1), sizeof *state->plate);
  state->points = share_of(kPoints, state->rank, state->size);
  state->line = calloc(state->points.count + 2, sizeof *state->line);
}

static void release(const State* state) {
  free(state->ids);
  free(state->x);
  free(state->table);
  free(state->plate);
  free(state->line);
}

static void protect_arrays(cairn_session* session, State* state) {
  const size_t pairs[] = {state->count, 2};
  const size_t rows[] = {state->rows.count + 2, kCols + 1};
  const size_t plate[] = {kRows, kCols};
  const size_t first_row[] = {state->rows.first, 0};
  const size_t before[] = {1, 1};
  const size_t after[] = {1, 0};
  const size_t points = state->points.count + 2;
  const size_t line = kPoints;
  const size_t one = 1;
  CHECK(cairn_protect(session, "step", &state->step, CAIRN_INT32, 1) == CAIRN_OK);
  CHECK(cairn_protect(session, "ids", state->ids, CAIRN_UINT64, state->count) == CAIRN_OK);
  CHECK(cairn_protect_array(session, "x", state->x, CAIRN_DOUBLE, 2, pairs) == CAIRN_OK);
  CHECK(cairn_protect(session, "table", state->table, CAIRN_INT32, state->table_part.count) == CAIRN_OK);
  CHECK(cairn_protect_block(session, "plate", state->plate, CAIRN_DOUBLE, 2, rows, plate, first_row, before, after) ==
        CAIRN_OK);
  CHECK(cairn_protect_pointer_block(session, "line", &state->line, CAIRN_FLOAT, 1, &points, &line, &state->points.first,
                                    &one, &one) == CAIRN_OK);
  if (state->rank == 0)
    CHECK(cairn_protect_opaque(session, "notes", state->notes, "Note", sizeof(int16_t), kNotes) == CAIRN_OK);
}

static void set_kinds(cairn_session* session, const State* state) {
  CHECK(cairn_kind_same(session, "step") == CAIRN_OK);
  CHECK(cairn_kind_sequence(session, "ids") == CAIRN_OK);
  CHECK(cairn_kind_like(session, "x", "ids") == CAIRN_OK);
  CHECK(cairn_kind_sequence_part(session, "table", state->table_part.first, state->table_part.count) == CAIRN_OK);
  if (state->rank == 0) CHECK(cairn_kind_of_rank(session, "notes", 0) == CAIRN_OK);
}

static void check_mistakes(cairn_session* session, State* state) {
  const size_t shape = 4;
  const size_t whole = 2;
  const size_t zero = 0;
  const size_t one = 1;
  CHECK_ERROR(cairn_kind_same(NULL, "step"), CAIRN_ERR_USAGE, "the session is NULL");
  CHECK_ERROR(cairn_kind_same(session, "nobody"), CAIRN_ERR_USAGE, "no region is named \"nobody\"");
  CHECK_ERROR(cairn_kind_same(session, NULL), CAIRN_ERR_USAGE, "no region is named \"\"");
  CHECK_ERROR(cairn_kind_sequence(session, "plate"), CAIRN_ERR_USAGE, "\"plate\" is a part of a global array");
  CHECK_ERROR(cairn_kind_like(session, "x", "x"), CAIRN_ERR_USAGE, "\"x\"");
  CHECK_ERROR(cairn_kind_like(session, "x", NULL), CAIRN_ERR_USAGE, "\"x\"");
  CHECK_ERROR(cairn_stored_total(session, "ids", NULL), CAIRN_ERR_USAGE, "count is NULL");
  CHECK(cairn_protect_array(session, "one", &state->notes, CAIRN_INT16, 0, NULL) == CAIRN_OK);
  CHECK_ERROR(cairn_kind_sequence(session, "one"), CAIRN_ERR_USAGE, "\"one\" is one value");
  CHECK(cairn_unprotect(session, "one") == CAIRN_OK);
  CHECK_ERROR(cairn_protect_block(session, "b", state->x, CAIRN_DOUBLE, 1, &shape, &whole, &zero, &one, NULL),
              CAIRN_ERR_USAGE, "\"b\"");
  CHECK_ERROR(cairn_protect_pointer_block(session, "b", NULL, CAIRN_DOUBLE, 1, &shape, &whole, &zero, &one, &one),
              CAIRN_ERR_USAGE, "&array");
}

/* The numbers of this rank are those of the step; those of ghosts, too, if they lie in the global array. */
static void check_step(const State* state, int step) {
  size_t first = 0;
  size_t before = 0;
  MPI_Exscan(&state->count, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (state->rank > 0) first = before;
  CHECK(state->step == step);
  for (size_t i = 0; i < state->count; ++i) CHECK(state->ids[i] == (uint64_t)value(first + i, step));
  for (size_t i = 0; i < 2 * state->count; ++i) CHECK(state->x[i] == value(2 * first + i, step));
  for (size_t i = 0; i < state->table_part.count; ++i)
    CHECK(state->table[i] == (int32_t)value(state->table_part.first + i, step));
  for (size_t r = 0; r < state->rows.count + 2; ++r) {
    const int is_outside = state->rows.first + r == 0 || state->rows.first + r > kRows;
    for (size_t c = 0; c < kCols + 1; ++c) {
      const double cell = state->plate[r * (kCols + 1) + c];
      CHECK(cell == (is_outside || c == 0 ? 0 : value((state->rows.first + r - 1) * kCols + c - 1, step)));
    }
  }
  for (size_t i = 0; i < state->points.count + 2; ++i) {
    const int is_outside = state->points.first + i == 0 || state->points.first + i > kPoints;
    CHECK(state->line[i] == (is_outside ? 0 : (float)value(state->points.first + i - 1, step)));
  }
  for (size_t i = 0; state->rank == 0 && i < kNotes; ++i) CHECK(state->notes[i] == (int16_t)value(i, step));
}

/* Ghosts are rubbish, which no restore may take for numbers of their owners. */
static void fill(State* state, int step) {
  size_t before = 0;
  MPI_Exscan(&state->count, &before, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  const size_t first = state->rank > 0 ? before : 0;
  state->step = step;
  for (size_t i = 0; i < state->count; ++i) state->ids[i] = (uint64_t)value(first + i, step);
  for (size_t i = 0; i < 2 * state->count; ++i) state->x[i] = value(2 * first + i, step);
  for (size_t i = 0; i < state->table_part.count; ++i)
    state->table[i] = (int32_t)value(state->table_part.first + i, step);
  for (size_t i = 0; i < (state->rows.count + 2) * (kCols + 1); ++i) state->plate[i] = -1;
  for (size_t r = 0; r < state->rows.count; ++r)
    for (size_t c = 0; c < kCols; ++c)
      state->plate[(r + 1) * (kCols + 1) + c + 1] = value((state->rows.first + r) * kCols + c, step);
  for (size_t i = 0; i < state->points.count + 2; ++i) state->line[i] = -1;
  for (size_t i = 0; i < state->points.count; ++i) state->line[i + 1] = (float)value(state->points.first + i, step);
  for (size_t i = 0; i < kNotes; ++i) state->notes[i] = (int16_t)value(i, step);
}

/* Rank 0 has memory for too many ids: all ranks learn of it, and the snapshot can still be restored. */
static void check_wrong_size(cairn_session* session, State* state) {
  if (state->rank == 0) CHECK(cairn_protect(session, "ids", state->ids, CAIRN_UINT64, state->count + 1) == CAIRN_OK);
  CHECK_ERROR(cairn_restore(session), CAIRN_ERR_MISMATCH, "region \"ids\": rank 0 has memory for");
  CHECK(cairn_protect(session, "ids", state->ids, CAIRN_UINT64, state->count) == CAIRN_OK); /* it keeps its kind */
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  const int step = atoi(argv[2]);
  cairn_session* session = NULL;
  cairn_restore_status status;
  State state;
  memset(&state, 0, sizeof state);
  MPI_Comm_rank(MPI_COMM_WORLD, &state.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &state.size);
  CHECK(cairn_init(MPI_COMM_WORLD, argv[1], &session) == CAIRN_OK);
  if (step >= 0) find_count(session, &state);
  allocate(&state);
  protect_arrays(session, &state);
  set_kinds(session, &state);
  if (step < 0) {
    CHECK_ERROR(cairn_restore(session), CAIRN_ERR_MISMATCH, "set [restart] elastic = on");
  } else {
    check_mistakes(session, &state);
    if (step > 0) check_wrong_size(session, &state);
    CHECK(cairn_restore(session) == CAIRN_OK);
    CHECK(cairn_restore_info(session, &status) == CAIRN_OK);
    CHECK(status.restored == (step > 0) && (step == 0) == (status.old_ranks == 0));
    CHECK((status.bytes_moved > 0) == (step > 0 && state.size > 2));
    if (step > 0) check_step(&state, step);
    fill(&state, step + 1);
    CHECK(cairn_snapshot(session, NULL) == CAIRN_OK);
  }
  CHECK(cairn_finalize(&session) == CAIRN_OK);
  release(&state);
  MPI_Finalize();
  return 0;
}
