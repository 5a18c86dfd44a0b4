// What a job and ckpt-run tell each other: the mark, as it changes over the job's life, and what was started.
#include <mutex>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using MarkKind = CompletionMark::Kind;

// Keeps the kinds of marks that its job leaves, each once until another follows.
class Marks {
 public:
  explicit Marks(Job& job) {
    job.leave_mark = [this](const Config& /*config*/, const CompletionMark& mark) {
      const std::scoped_lock lock(mutex_);
      // A session that is open is told twice.
      if (kinds_.empty() || kinds_.back() != mark.kind) kinds_.push_back(mark.kind);
    };
  }
  [[nodiscard]] std::vector<MarkKind> kinds() {
    const std::scoped_lock lock(mutex_);
    return kinds_;
  }

 private:
  std::mutex mutex_;
  std::vector<MarkKind> kinds_;
};

TEST(Mark, says_that_a_session_was_opened_before_any_rank_has_it_and_then_how_it_ended) {
  Job job({2, 2}, "[levels]\nl1 = every 1\n");
  Marks marks(job);
  for (std::size_t session = 1; session <= 2; ++session) {
    job.run([&](JobSession&) { EXPECT_THAT(marks.kinds(), SizeIs(2 * session - 1)); });
  }
  EXPECT_THAT(marks.kinds(), ElementsAre(MarkKind::opened, MarkKind::finished, MarkKind::opened, MarkKind::finished));
}

TEST(Mark, of_an_error_that_the_application_has_mended_does_not_stay) {
  Job job({2, 2}, "[levels]\nl1 = every 1\n");
  job.run_well_and_die([](JobSession& session) {
    std::vector<double> plate(8);
    session.protect("plate", plate);
    session.restore();
    session.snapshot();
    session.wait(LevelId::local);
  });
  Marks marks(job);
  job.run_well_and_die([](JobSession& session) {
    std::vector<int> wrong(8);
    std::vector<double> plate(8);
    session.protect("plate", wrong);
    EXPECT_THROW(session.restore(), Exception);
    session.protect("plate", plate);
    session.restore();
  });
  EXPECT_THAT(marks.kinds(), ElementsAre(MarkKind::opened, MarkKind::error, MarkKind::opened));
}

TEST(Mark, of_an_error_of_one_snapshot_does_not_stay_once_a_later_one_is_safe) {
  Job job({3, 2}, "[levels]\nl1 = every 1\n[restart]\nat_end = continue\n");
  // Of rank 1. Rank 0 hears of it from its head, and leaves the mark.
  job.wrap_node = [](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    if (node != 0) return store;
    return std::make_shared<HookedStore>(store, [](const HookedStore::Operation& operation) -> Status {
      const bool creates = operation.kind == HookedStore::Operation::Kind::create;
      if (creates && operation.path.starts_with("v00000002") && operation.path.ends_with("1.shard"))
        return fail(Code::mismatch, operation.path + ": is another one's");
      return {};
    });
  };
  Marks marks(job);
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
    session.wait(LevelId::local);
    // The call that took it tells of it, or a later one.
    EXPECT_FALSE(
        thrown_by([&] { steps.advance(); }, [&] { steps.advance(); }, [&] { session.wait(LevelId::local); }).empty());
    for (int i = 0; i < 2; ++i) {
      steps.advance();
      session.wait(LevelId::local);
    }
  });
  EXPECT_THAT(marks.kinds(), ElementsAre(MarkKind::opened, MarkKind::error, MarkKind::opened));
}

TEST(Started, numbers_that_are_not_there_are_refused_by_every_rank) {
  for (const StartedNumbers& started : {StartedNumbers{3, 2, 2}, {2, 1, 2}, {2, 2, 1}}) {
    Job job({2, 2}, "");
    job.started = started;
    EXPECT_ANY_THROW(job.run([](JobSession&) { ADD_FAILURE() << "the session was opened"; }));
    EXPECT_THAT(job.errors(), SizeIs(4)) << started_text(started);
    for (const auto& [rank, failure] : job.errors())
      EXPECT_THAT(failure, Fails(Code::config, {"ckpt-run", "2", "--config"})) << rank;
  }
  Job job({2, 2}, "");
  job.started = StartedNumbers{2, 2, 2};
  job.run([](JobSession&) {});
}

TEST(Started, anew_goes_on_once_a_life_of_the_same_run_has_taken_snapshots) {
  Job job({2, 2}, "[levels]\nl1 = every 1\n[restart]\nmode = fresh\n");
  const auto live = [&](std::uint32_t from) {
    job.run_well_and_die([&](JobSession& session) {
      Steps steps(session);
      EXPECT_EQ(steps.restore(), from);
      steps.advance_by(3);
      session.wait(LevelId::local);
    });
  };
  live(0);
  live(0);
  job.goes_on = true;
  live(3);
}

}  // namespace
}  // namespace cairn::test
