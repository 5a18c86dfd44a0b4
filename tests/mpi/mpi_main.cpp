// Of tests that run between MPI_Init and MPI_Finalize.
#include <gtest/gtest.h>
#include <mpi.h>

#include "support/mpi_end_on_failure.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  MPI_Init(&argc, &argv);
  return cairn::test::run_tests_and_finalize();
}
