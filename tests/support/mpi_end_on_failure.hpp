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

}  // namespace cairn::test
