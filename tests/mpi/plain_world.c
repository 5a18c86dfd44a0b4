/* plain_world.cpp, in C: all its communication is on MPI_COMM_WORLD and what it makes from there. What Cairn needs of
 * it is the lines with cairn_.
 *
 *   plain_world_c CONFIG OUTPUT STEPS PAUSE_MS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cairn/cairn.h>

enum { kCells = 64 };

static double cells[kCells];
static double* inbox; /* The window's memory, MPI's. */
static int size, rank;
static MPI_Comm grid, row;
static MPI_Win window;

static void make_world(void) {
  int lengths[2] = {0, 0};
  const int periodic[2] = {1, 1};
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Dims_create(size, 2, lengths);
  MPI_Cart_create(MPI_COMM_WORLD, 2, lengths, periodic, 0, &grid);
  MPI_Comm_split(MPI_COMM_WORLD, rank / lengths[1], rank, &row);
  /* Where processes cannot read each other's memory, Open MPI 4.1 makes windows of memory of its own only. */
  MPI_Win_allocate(kCells * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &inbox, &window);
  for (int i = 0; i < kCells; ++i) inbox[i] = 0;
}

static void free_world(void) {
  MPI_Win_free(&window);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);
}

/* One step: from the neighbours on the grid, the mean of a row and of all, and what the next rank puts here. */
static void relax(int step) {
  double from[kCells];
  double sums[2];
  for (int direction = 0; direction < 2; ++direction) {
    int source, target;
    MPI_Cart_shift(grid, direction, 1, &source, &target);
    MPI_Sendrecv(cells, kCells, MPI_DOUBLE, target, direction, from, kCells, MPI_DOUBLE, source, direction, grid,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < kCells; ++i) cells[i] += 0.25 * (from[i] - cells[(i + 1) % kCells]);
  }
  sums[0] = cells[0];
  sums[1] = cells[1];
  MPI_Allreduce(MPI_IN_PLACE, &sums[0], 1, MPI_DOUBLE, MPI_SUM, row);
  MPI_Allreduce(MPI_IN_PLACE, &sums[1], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Win_fence(0, window);
  MPI_Put(cells, kCells, MPI_DOUBLE, (rank + step) % size, 0, kCells, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < kCells; ++i) cells[i] += 0.001 * (inbox[i] + sums[0] - sums[1]);
}

static void write_cells(const char* output) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, output, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, (MPI_Offset)(rank * sizeof(cells)), cells, kCells, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  cairn_session* session;
  int step = 0;
  MPI_Init(&argc, &argv);
  if (argc < 5) {
    puts("plain_world_c CONFIG OUTPUT STEPS PAUSE_MS");
    MPI_Finalize();
    return 0;
  }
  const int steps = atoi(argv[3]);
  const struct timespec pause = {0, atoi(argv[4]) * 1000000L};
  make_world();
  for (int i = 0; i < kCells; ++i) cells[i] = 1.0 / (1 + i + rank);
  if (cairn_init(MPI_COMM_WORLD, argv[1], &session) != CAIRN_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  cairn_protect(session, "cells", cells, CAIRN_DOUBLE, kCells);
  cairn_protect(session, "step", &step, CAIRN_INT32, 1);
  if (cairn_restore(session) != CAIRN_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank == 0) printf("%d ranks begin at step %d\n", size, step);
  while (step < steps) {
    relax(step);
    ++step;
    if (cairn_snapshot(session, NULL) != CAIRN_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    nanosleep(&pause, NULL);
    if (rank == 0 && step % 10 == 0) printf("step %d of %d\n", step, steps);
    fflush(stdout);
  }
  write_cells(argv[2]);
  if (cairn_finalize(&session) != CAIRN_OK) MPI_Abort(MPI_COMM_WORLD, 1);
  free_world();
  MPI_Finalize();
  return 0;
}
