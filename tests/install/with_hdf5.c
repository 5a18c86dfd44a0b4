/* A program that writes with a parallel HDF5 of its own while Cairn writes L4 with the one that it was built with. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include <cairn/cairn.h>
#include <hdf5.h>

static void check(int code) {
  if (code == CAIRN_OK) return;
  fprintf(stderr, "%s\n", cairn_error_text());
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* One number of each rank, written by all ranks at once. */
static int write_ranks(MPI_Comm comm, int rank, int ranks) {
  const hsize_t count = (hsize_t)ranks, place = (hsize_t)rank, one = 1;
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (H5Pset_fapl_mpio(access, comm, MPI_INFO_NULL) < 0) return 0;
  hid_t file = H5Fcreate("own.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  hid_t whole = H5Screate_simple(1, &count, NULL), part = H5Screate_simple(1, &one, NULL);
  hid_t data = H5Dcreate2(file, "ranks", H5T_NATIVE_INT, whole, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Sselect_hyperslab(whole, H5S_SELECT_SET, &place, NULL, &one, NULL);
  int good = H5Dwrite(data, H5T_NATIVE_INT, part, whole, H5P_DEFAULT, &rank) >= 0;
  H5Dclose(data);
  H5Sclose(part);
  H5Sclose(whole);
  H5Pclose(access);
  return H5Fclose(file) >= 0 && good;
}

int main(int argc, char** argv) {
  static double state[1000];
  int rank, ranks, good;
  MPI_Comm comm;
  cairn_session* session;
  MPI_Init(&argc, &argv);
  int code = cairn_init(MPI_COMM_WORLD, "program.ini", &session);
  if (code == CAIRN_HEAD) {
    MPI_Finalize();
    return EXIT_SUCCESS;
  }
  check(code);
  check(cairn_protect(session, "state", state, CAIRN_DOUBLE, 1000));
  check(cairn_restore(session));
  check(cairn_comm(session, &comm));
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  check(cairn_snapshot(session, NULL));
  good = write_ranks(comm, rank, ranks);
  MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, comm);
  check(cairn_wait(session, CAIRN_L4));
  if (rank == 0 && good) printf("%d ranks wrote, and Cairn did\n", ranks);
  check(cairn_finalize(&session));
  MPI_Finalize();
  return EXIT_SUCCESS;
}
