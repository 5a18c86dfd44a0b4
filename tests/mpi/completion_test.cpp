// Which calls complete which requests, and where they put what they have found, without a message.
#include "mpi/completion.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>

namespace cairn::test {
namespace {

using tap::Which;
using testing::ElementsAre;

MPI_Status from(int source) {
  MPI_Status status{};
  status.MPI_SOURCE = source;
  status.MPI_ERROR = -7;
  return status;
}

struct Results {
  int flag = -1;
  int index = -1;
  int done = -1;
  std::array<int, 4> indices{-1, -1, -1, -1};
  std::array<MPI_Status, 4> statuses{from(-1), from(-1), from(-1), from(-1)};

  // As the tap passes them.
  tap::Completed of(Which which, bool tests) {
    tap::Completed completed{.statuses = statuses.data()};
    if (which == Which::any) completed.index = &index;
    if (which == Which::some) {
      completed.done = &done;
      completed.indices = indices.data();
    }
    if (tests) completed.flag = which == Which::some ? &done : &flag;
    return completed;
  }
};

TEST(Completing, waits_for_all_or_for_one_or_for_none_where_none_is_active) {
  for (const Which which : {Which::one, Which::all}) {
    const Completion call(which, 3, {});
    EXPECT_FALSE(call.is_over(2, 1));
    EXPECT_TRUE(call.is_over(2, 2));
    EXPECT_TRUE(call.is_over(0, 0));
  }
  for (const Which which : {Which::any, Which::some}) {
    const Completion call(which, 3, {});
    EXPECT_FALSE(call.is_over(2, 0));
    EXPECT_TRUE(call.is_over(2, 1));
    EXPECT_TRUE(call.is_over(0, 0));
  }
}

TEST(Completing, one_returns_the_code_of_the_request) {
  Results results;
  Completion call(Which::one, 1, results.of(Which::one, true));
  call.found(0, MPI_ERR_TRUNCATE, from(3));
  EXPECT_EQ(call.end(true), MPI_ERR_TRUNCATE);
  EXPECT_EQ(results.flag, 1);
  EXPECT_EQ(results.statuses[0].MPI_SOURCE, 3);
  EXPECT_EQ(results.statuses[0].MPI_ERROR, -7);
}

TEST(Completing, all_says_in_each_status_what_has_failed_also_of_one_request) {
  Results results;
  Completion call(Which::all, 3, results.of(Which::all, false));
  call.found(0, MPI_SUCCESS, from(1));
  call.found(1, MPI_ERR_TRUNCATE, from(2));
  call.found(2, MPI_ERR_OTHER, from(3));
  EXPECT_EQ(call.first_error(), MPI_ERR_TRUNCATE);
  EXPECT_EQ(call.end(true), MPI_ERR_IN_STATUS);
  EXPECT_EQ(results.statuses[0].MPI_ERROR, MPI_SUCCESS);
  EXPECT_EQ(results.statuses[1].MPI_ERROR, MPI_ERR_TRUNCATE);
  EXPECT_EQ(results.statuses[2].MPI_SOURCE, 3);
  Completion single(Which::all, 1, results.of(Which::all, false));
  single.found(0, MPI_ERR_TRUNCATE, from(1));
  EXPECT_EQ(single.end(true), MPI_ERR_IN_STATUS);
  EXPECT_EQ(results.statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
}

TEST(Completing, a_test_of_all_has_a_flag_only_once_all_are_found) {
  Results results;
  Completion none(Which::all, 2, results.of(Which::all, true));
  EXPECT_EQ(none.end(true), MPI_SUCCESS);
  EXPECT_EQ(results.flag, 0);
  Completion both(Which::all, 2, results.of(Which::all, true));
  both.found(0, MPI_SUCCESS, from(1));
  both.found(1, MPI_SUCCESS, from(2));
  EXPECT_EQ(both.end(true), MPI_SUCCESS);
  EXPECT_EQ(results.flag, 1);
}

TEST(Completing, any_takes_the_first_and_no_more) {
  Results results;
  Completion call(Which::any, 4, results.of(Which::any, true));
  EXPECT_FALSE(call.is_enough());
  call.found(2, MPI_ERR_TRUNCATE, from(5));
  EXPECT_TRUE(call.is_enough());
  EXPECT_EQ(call.end(true), MPI_ERR_TRUNCATE);
  EXPECT_THAT((std::array{results.flag, results.index, results.statuses[0].MPI_SOURCE}), ElementsAre(1, 2, 5));
}

TEST(Completing, any_of_none_that_is_active_is_over_with_an_empty_status) {
  Results results;
  Completion call(Which::any, 4, results.of(Which::any, true));
  EXPECT_EQ(call.end(false), MPI_SUCCESS);
  EXPECT_THAT((std::array{results.flag, results.index, results.statuses[0].MPI_SOURCE}),
              ElementsAre(1, MPI_UNDEFINED, MPI_ANY_SOURCE));
  Completion active(Which::any, 4, results.of(Which::any, true));
  EXPECT_EQ(active.end(true), MPI_SUCCESS);
  EXPECT_THAT((std::array{results.flag, results.index}), ElementsAre(0, MPI_UNDEFINED));
}

TEST(Completing, some_lists_what_it_has_found_one_after_another) {
  Results results;
  Completion call(Which::some, 4, results.of(Which::some, false));
  call.found(1, MPI_SUCCESS, from(1));
  call.found(3, MPI_ERR_TRUNCATE, from(3));
  EXPECT_EQ(call.end(true), MPI_ERR_IN_STATUS);
  EXPECT_EQ(results.done, 2);
  EXPECT_THAT(results.indices, ElementsAre(1, 3, -1, -1));
  EXPECT_THAT((std::array{results.statuses[1].MPI_SOURCE, results.statuses[1].MPI_ERROR}),
              ElementsAre(3, MPI_ERR_TRUNCATE));
}

TEST(Completing, some_has_no_count_where_none_is_active) {
  Results results;
  for (const bool active : {false, true}) {
    Completion call(Which::some, 4, results.of(Which::some, true));
    EXPECT_EQ(call.end(active), MPI_SUCCESS);
    EXPECT_EQ(results.done, active ? 0 : MPI_UNDEFINED);
  }
}

TEST(Completing, puts_nothing_where_the_application_ignores_statuses) {
  Completion call(Which::all, 1, {});
  call.found(0, MPI_SUCCESS, from(1));
  EXPECT_EQ(call.end(true), MPI_SUCCESS);
}

}  // namespace
}  // namespace cairn::test
