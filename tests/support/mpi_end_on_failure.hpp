// A rank that stops inside a collective would leave the others waiting: it ends the job instead.
#pragma once

#include <mpi.h>

#include <cstdio>

#include <gtest/gtest.h>

namespace cairn::test {

class EndTheJobOnFatalFailure : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.fatally_failed()) return;
    std::fprintf(stderr, "%s:%d: %s\n", result.file_name(), result.line_number(), result.message());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
};

// Runs the tests after MPI_Init, and ends MPI. Returns the exit code, the same on all ranks: 0 if all tests passed on
// every rank, and each rank says that it `is_good`.
inline int run_tests_and_finalize(bool is_good = true) {
  testing::UnitTest::GetInstance()->listeners().Append(new EndTheJobOnFatalFailure);
  int failed = RUN_ALL_TESTS();
  if (!is_good) failed = 1;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}

}  // namespace cairn::test
