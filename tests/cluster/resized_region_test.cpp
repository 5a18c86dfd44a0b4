// What restore() does with containers of another size than in the snapshot, as after a start with another problem size:
// it resizes them and reports that, or refuses where the size is fixed.
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn {

static bool operator==(const ResizedRegion& a, const ResizedRegion& b) {
  return a.name == b.name && a.elements_before == b.elements_before && a.elements_now == b.elements_now;
}

namespace test {
namespace {

using test::Fails;
using test::lines_that_name;
using test::thrown_by;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

// Two nodes with one application rank each.
constexpr const char* kResizedSettings =
    "[storage]\nkeep_local = 2\n[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n";

// The state of a problem of this size; the bytes of a snapshot are `value`.
struct Problem {
  explicit Problem(std::size_t size, double value = 0) : plate(size, value), halo(2 * size, value) {}
  std::vector<double> plate;
  std::vector<double> halo;
  int step = 0;

  void protect(JobSession& session) {
    session.protect("step", step);
    session.protect("plate", plate);
    session.protect("halo", halo);
  }
};

// A job whose snapshot is of a problem of size `size`.
Job job_of(std::size_t size) {
  Job job({2, 2}, kResizedSettings);
  job.run_well_and_die([&](JobSession& session) {
    Problem problem(size, 1);
    problem.protect(session);
    session.snapshot();
    session.wait(LevelId::local);
  });
  return job;
}

TEST(ResizedRegions, are_reported_in_order_with_their_sizes) {
  Job job = job_of(12);
  job.run([](JobSession& session) {
    Problem problem(13);
    problem.protect(session);
    const RestoreReport report = session.restore();
    EXPECT_THAT(report.resized, ElementsAre(ResizedRegion{"plate", 13, 12}, ResizedRegion{"halo", 26, 24}));
    EXPECT_EQ(report.resized_ranks, session.size());
    EXPECT_EQ(session.last_restore().resized.size(), 2U);
    EXPECT_THAT(problem.plate, AllOf(testing::SizeIs(12), Each(1.0)));
    // Now they have the size of the snapshot.
    EXPECT_THAT(session.restore().resized, IsEmpty());
    EXPECT_EQ(session.last_restore().resized_ranks, 0U);
  });
}

TEST(ResizedRegions, on_one_rank_are_counted_on_all_and_logged_once) {
  Job job = job_of(12);
  job.log_level = "info";
  testing::internal::CaptureStderr();
  job.run([](JobSession& session) {
    Problem problem(session.rank() == 1 ? 13 : 12);
    problem.protect(session);
    const RestoreReport report = session.restore();
    EXPECT_EQ(report.resized.size(), session.rank() == 1 ? 2U : 0U);
    EXPECT_EQ(report.resized_ranks, 1U);
  });
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines_that_name(log, {"rank 1", "plate", "13", "12"}), testing::SizeIs(1)) << log;
  EXPECT_THAT(lines_that_name(log, {"plate"}), testing::SizeIs(1)) << log;
}

TEST(ResizedRegions, that_were_empty_before_are_not_among_them) {
  Job job({2, 2}, kResizedSettings);
  job.run_well_and_die([](JobSession& session) {
    std::vector<double> filled(3);
    std::vector<double> empty;
    session.protect("filled", filled);
    session.protect("empty", empty);
    session.snapshot();
    session.wait(LevelId::local);
  });
  job.run([](JobSession& session) {
    std::vector<double> filled;
    std::vector<double> empty(2);
    session.protect("filled", filled);
    session.protect("empty", empty);
    EXPECT_THAT(session.restore().resized, ElementsAre(ResizedRegion{"empty", 2, 0}));
    EXPECT_EQ(filled.size(), 3U);
  });
}

TEST(ResizedRegions, restored_by_name_are_reported_alone) {
  Job job = job_of(12);
  job.run([](JobSession& session) {
    Problem problem(13);
    problem.protect(session);
    EXPECT_THAT(session.restore("halo").resized, ElementsAre(ResizedRegion{"halo", 26, 24}));
    EXPECT_EQ(problem.plate.size(), 13U);
  });
}

// Ranks have read the newer snapshot, when it is found that a shard of it is damaged.
TEST(ResizedRegions, are_compared_with_the_sizes_before_restore_also_when_it_reads_twice) {
  Job job({2, 2}, kResizedSettings);
  job.run_well_and_die([](JobSession& session) {
    for (const std::size_t size : {3000, 5000}) {
      Problem problem(size);
      problem.protect(session);
      session.snapshot();
      session.wait(LevelId::local);
    }
  });
  MemoryStore& store = job.node_store(1);
  const std::vector<Entry> entries = store.list(DirName{}).value();
  for (const Entry& entry : entries) {
    const auto dir = names::parse_snapshot(entry.name);
    if (!dir || dir->version.value != 2) continue;
    ASSERT_TRUE(store.corrupt(names::shard(DirName{entry.name}, Rank{1}), 20'000));
  }
  job.run([](JobSession& session) {
    Problem problem(3000);
    problem.plate.resize(4000);
    problem.protect(session);
    const RestoreReport report = session.restore();
    EXPECT_EQ(report.version, 1U);
    EXPECT_THAT(report.resized, ElementsAre(ResizedRegion{"plate", 4000, 3000}));
  });
}

TEST(FixedSize, refuses_on_all_ranks_what_differs_on_one_and_leaves_its_regions_as_they_are) {
  Job job = job_of(12);
  job.run([](JobSession& session) {
    const bool differs = session.rank() == 1;
    Problem problem(differs ? 13 : 12, 7);
    problem.protect(session);
    session.protect("plate", problem.plate, fixed_size);
    try {
      session.restore();
      ADD_FAILURE() << "another size was accepted";
    } catch (const Exception& error) {
      EXPECT_THAT(error, Fails(ErrorKind::mismatch, {"rank 1", "plate", "float64[13]", "float64[12]"}));
    }
    if (differs) {
      EXPECT_THAT(problem.plate, AllOf(testing::SizeIs(13), Each(7.0)));
      EXPECT_THAT(problem.halo, AllOf(testing::SizeIs(26), Each(7.0)));
    }
    // The snapshot is still there for who comes with its size.
    problem.plate.resize(12);
    EXPECT_TRUE(session.restore().restored);
    EXPECT_THAT(problem.plate, Each(1.0));
  });
}

TEST(FixedSize, refuses_an_empty_container_too) {
  Job job = job_of(12);
  job.run([](JobSession& session) {
    Problem problem(12);
    problem.protect(session);
    std::vector<double> plate;
    session.protect("plate", plate, fixed_size);
    EXPECT_THAT(thrown_by([&] { session.restore(); }),
                Fails(ErrorKind::mismatch, {"plate", "float64[0]", "float64[12]"}));
    EXPECT_THAT(plate, IsEmpty());
    session.protect("plate", problem.plate);
    session.restore();
  });
}

TEST(FixedSize, is_that_of_the_container_when_restore_is_called) {
  Job job({2, 2}, kResizedSettings);
  job.run([](JobSession& session) {
    std::vector<double> rows(10, 1);
    session.protect("rows", rows, fixed_size, GlobalPlace{{8, 5}, {2 * session.rank(), 0}});
    session.snapshot();
    rows.assign(15, 2);
    session.snapshot();
    rows.assign(15, 3);
    EXPECT_TRUE(session.restore().restored);
    EXPECT_THAT(rows, AllOf(testing::SizeIs(15), Each(2.0)));
  });
}

}  // namespace
}  // namespace test
}  // namespace cairn
