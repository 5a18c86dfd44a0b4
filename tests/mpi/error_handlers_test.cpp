// In a job that repairs itself, MPI has other error handlers than the application sets, and the application sees its
// own.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "tap/error_handlers.hpp"
#include "tap/family.hpp"
#include "tap/hear.hpp"

namespace cairn::test {
namespace {

using Tells = tap::ErrorJudge::Tells;

constexpr int kFailure = MPI_ERR_OTHER;  // as if a process had died
constexpr int kMistake = MPI_ERR_TAG;

class Judge final : public tap::ErrorJudge {
 public:
  Tells judge_comm(MPI_Comm /*comm*/, int code) override { return judge(code); }
  Tells judge_window(MPI_Win /*window*/, int code) override { return judge(code); }
  bool throws = false;
  int failures = 0;

 private:
  Tells judge(int code) {
    if (code != kFailure) return Tells::anybody;
    ++failures;
    if (throws) throw std::runtime_error("a process died");
    return Tells::own;
  }
};

// What the application's own handlers were told.
std::vector<int>& told() {
  static std::vector<int> codes;
  return codes;
}
void note(MPI_Comm* /*comm*/, int* code, ...) { told().push_back(*code); }
void note_of_window(MPI_Win* /*window*/, int* code, ...) { told().push_back(*code); }
void become_fatal(MPI_Comm* comm, int* /*code*/, ...) { MPI_Comm_set_errhandler(*comm, MPI_ERRORS_ARE_FATAL); }

std::vector<MPI_Errhandler> predefined() {
  return {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN,
#ifdef MPI_ERRORS_ABORT
          MPI_ERRORS_ABORT
#endif
  };
}

// As an application asks.
MPI_Errhandler handler_on(MPI_Comm comm) {
  MPI_Errhandler there = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(comm, &there);
  const MPI_Errhandler found = there;
  EXPECT_EQ(MPI_Errhandler_free(&there), MPI_SUCCESS);
  EXPECT_EQ(there, MPI_ERRHANDLER_NULL);
  return found;
}

class ErrorHandlers : public testing::Test {
 protected:
  ErrorHandlers() {
    told().clear();
    MPI_Comm_dup(MPI_COMM_WORLD, &root_);
    family_.emplace(root_, [](MPI_Comm) {});
  }
  ~ErrorHandlers() override {
    family_.reset();
    MPI_Comm_free(&root_);
  }
  // An error there, as MPI raises it. Ends this process where MPI has a handler that does.
  static void raise(MPI_Comm comm, int code) { MPI_Comm_call_errhandler(comm, code); }
  static MPI_Errhandler own() {
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(&note, &made);
    return made;
  }

  MPI_Comm root_ = MPI_COMM_NULL;
  std::optional<tap::Family> family_;
  Judge judge_;
};

TEST_F(ErrorHandlers, a_failure_ends_no_process_whichever_predefined_handler_the_application_sets) {
  const tap::Judging judging(judge_);
  for (const MPI_Errhandler handler : predefined()) {
    MPI_Comm_set_errhandler(root_, handler);
    raise(root_, kFailure);
    MPI_Comm derived = MPI_COMM_NULL;
    MPI_Comm_dup(root_, &derived);
    raise(derived, kFailure);
    EXPECT_EQ(handler_on(derived), handler);
    MPI_Comm_free(&derived);
    EXPECT_EQ(handler_on(root_), handler);
  }
  EXPECT_EQ(judge_.failures, 2 * static_cast<int>(predefined().size()));
}

TEST_F(ErrorHandlers, the_application_leaves_its_call_by_the_exception_of_a_failure) {
  const tap::Judging judging(judge_);
  judge_.throws = true;
  MPI_Errhandler mine = own();
  for (const MPI_Errhandler handler : {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN, mine}) {
    MPI_Comm_set_errhandler(root_, handler);
    EXPECT_THROW(raise(root_, kFailure), std::runtime_error);
  }
  EXPECT_TRUE(told().empty());
  MPI_Errhandler_free(&mine);
}

TEST_F(ErrorHandlers, what_was_set_is_got_and_freed_and_set_back_as_often_as_one_likes) {
  const tap::Judging judging(judge_);
  MPI_Errhandler mine = own();
  for (const MPI_Comm comm : {root_, MPI_COMM_WORLD, MPI_COMM_SELF}) {
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(comm, &before);
    for (int i = 0; i < 100; ++i) {
      MPI_Errhandler first = MPI_ERRHANDLER_NULL;
      MPI_Comm_set_errhandler(comm, i % 2 == 0 ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL);
      MPI_Comm_get_errhandler(comm, &first);
      MPI_Comm_set_errhandler(comm, mine);
      EXPECT_EQ(handler_on(comm), mine);
      MPI_Comm_set_errhandler(comm, first);
      EXPECT_EQ(MPI_Errhandler_free(&first), MPI_SUCCESS);
      EXPECT_EQ(handler_on(comm), i % 2 == 0 ? MPI_ERRORS_RETURN : MPI_ERRORS_ARE_FATAL);
    }
    MPI_Comm_set_errhandler(comm, before);
    MPI_Errhandler_free(&before);
  }
  MPI_Errhandler_free(&mine);
}

TEST_F(ErrorHandlers, the_applications_own_handler_is_told_of_each_error_once_also_after_it_was_freed) {
  std::optional<tap::Judging> judging;
  MPI_Errhandler mine = own();
  MPI_Comm_set_errhandler(root_, mine);
  MPI_Errhandler_free(&mine);
  raise(root_, kMistake);
  judging.emplace(judge_);
  raise(root_, kMistake);
  raise(root_, kFailure);  // learned of by return codes
  MPI_Comm derived = MPI_COMM_NULL;
  MPI_Comm_dup(root_, &derived);
  raise(derived, kMistake);
  MPI_Comm_free(&derived);
  judging.reset();
  raise(root_, kMistake);
  EXPECT_EQ(told(), (std::vector{kMistake, kMistake, kFailure, kMistake, kMistake}));
}

TEST_F(ErrorHandlers, an_error_that_is_returned_calls_nobody) {
  const tap::Judging judging(judge_);
  MPI_Comm_set_errhandler(root_, MPI_ERRORS_RETURN);
  raise(root_, kMistake);
  EXPECT_NE(MPI_Send(nullptr, 0, MPI_BYTE, 0, -7, root_), MPI_SUCCESS);
  EXPECT_EQ(handler_on(root_), MPI_ERRORS_RETURN);
}

TEST_F(ErrorHandlers, a_handler_that_sets_another_one_sets_no_predefined_one) {
  const tap::Judging judging(judge_);
  MPI_Errhandler becomes_fatal = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&become_fatal, &becomes_fatal);
  MPI_Comm_set_errhandler(root_, becomes_fatal);
  raise(root_, kMistake);
  raise(root_, kFailure);
  EXPECT_EQ(judge_.failures, 1);
  EXPECT_EQ(handler_on(root_), MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&becomes_fatal);
}

TEST_F(ErrorHandlers, communicators_that_are_older_than_the_job_are_taken_over) {
  MPI_Comm old = MPI_COMM_NULL;
  family_.reset();
  MPI_Comm_dup(MPI_COMM_WORLD, &old);
  MPI_Comm_set_errhandler(old, MPI_ERRORS_ARE_FATAL);
  {
    const tap::Judging judging(judge_);
    raise(old, kFailure);
    EXPECT_EQ(handler_on(old), MPI_ERRORS_ARE_FATAL);
  }
  EXPECT_EQ(judge_.failures, 1);
  MPI_Comm_free(&old);
}

TEST_F(ErrorHandlers, communicators_of_cairn_keep_what_cairn_sets) {
  const tap::Judging judging(judge_);
  const tap::Unheard own;
  MPI_Comm cairns = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &cairns);
  MPI_Comm_set_errhandler(cairns, MPI_ERRORS_RETURN);
  raise(cairns, kFailure);
  EXPECT_EQ(judge_.failures, 0);
  MPI_Comm_free(&cairns);
}

TEST_F(ErrorHandlers, windows_are_handled_in_the_same_way) {
  const tap::Judging judging(judge_);
  void* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(8, 8, MPI_INFO_NULL, root_, static_cast<void*>(&base), &window);
  MPI_Win_call_errhandler(window, kFailure);
  MPI_Errhandler mine = MPI_ERRHANDLER_NULL;
  MPI_Win_create_errhandler(&note_of_window, &mine);
  for (const MPI_Errhandler handler : {MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN, mine}) {
    MPI_Win_set_errhandler(window, handler);
    MPI_Win_call_errhandler(window, kFailure);
    MPI_Errhandler there = MPI_ERRHANDLER_NULL;
    MPI_Win_get_errhandler(window, &there);
    EXPECT_EQ(there, handler);
    EXPECT_EQ(MPI_Errhandler_free(&there), MPI_SUCCESS);
  }
  MPI_Win_call_errhandler(window, kMistake);
  EXPECT_EQ(judge_.failures, 4);
  EXPECT_EQ(told(), (std::vector{kFailure, kMistake}));
  MPI_Win_free(&window);
  MPI_Errhandler_free(&mine);
}

TEST_F(ErrorHandlers, without_a_judge_mpi_has_what_the_application_sets) {
  for (const MPI_Errhandler handler : {MPI_ERRORS_RETURN, MPI_ERRORS_ARE_FATAL}) {
    MPI_Comm_set_errhandler(root_, handler);
    MPI_Errhandler there = MPI_ERRHANDLER_NULL;
    {
      const tap::Unheard own;
      MPI_Comm_get_errhandler(root_, &there);
    }
    EXPECT_EQ(there, handler);
    MPI_Errhandler_free(&there);
  }
}

}  // namespace
}  // namespace cairn::test
