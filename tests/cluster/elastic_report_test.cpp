// What a job on another number of ranks reports and logs.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elastic_job.hpp"
#include "session/session_impl.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"

namespace cairn::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

using Ranks = std::vector<std::uint32_t>;  // world ranks of each node, head included

// What the log says of a run at these levels.
std::string log_of(Job& job, const std::function<void(JobSession&)>& application) {
  job.log_level = "warning";
  testing::internal::CaptureStderr();
  job.run(application);
  return testing::internal::GetCapturedStderr();
}

// Two levels from which the shards of old ranks 2 and 3 come, and one for those that lie in place.
TEST(ElasticReport, names_the_sources_of_all_shards_that_a_rank_has_read) {
  Job job({3, 3}, elastic_settings("2"));
  take_grid_steps(job, 2);
  job.lose(1);
  job.reshape({2}, {0});
  job.run_well_and_die([](JobSession& session) {
    Grid(session).restore();
    EXPECT_THAT(session.last_restore().my_source, AllOf(HasSubstr("L1"), HasSubstr("L2"), HasSubstr("node 0")));
  });
}

TEST(ElasticReport, warns_if_the_nodes_of_today_protect_less_and_the_last_level_is_off) {
  for (const auto& [levels, warnings] : {std::pair("2", 1U), std::pair("24", 0U)}) {
    Job job({2, 2}, elastic_settings(levels));
    take_grid_steps(job, 2);
    job.reshape({2});
    const std::string log = log_of(job, [](JobSession& session) {
      Grid grid(session);
      EXPECT_EQ(grid.restore(), 2U);
      grid.advance();
      grid.wait_for_all();
    });
    EXPECT_THAT(lines_that_name(log, {"version 2", "the next loss", "l4"}), SizeIs(warnings)) << log;
  }
}

TEST(ElasticReport, warns_once_if_the_job_ends_before_its_next_snapshot) {
  Job job({3, 3}, elastic_settings("2"));
  take_grid_steps(job, 2);
  job.reshape({2, 2});
  for (const bool snapshot : {false, true}) {
    const std::string log = log_of(job, [&](JobSession& session) {
      Grid grid(session);
      EXPECT_EQ(grid.restore(), 2U);
      if (snapshot) grid.advance();
    });
    EXPECT_THAT(lines_that_name(log, {"finalize()", "version 2", "kept"}), SizeIs(snapshot ? 0 : 1)) << log;
  }
}

TEST(ElasticReport, says_what_does_not_fit_and_whether_as_many_ranks_as_before_would_help) {
  Job job({3, 3}, elastic_settings(""));
  job.run_well_and_die([](JobSession& session) {
    std::vector<int> x(3);
    int step = 1;
    session.protect("x", x, sequence);
    session.protect("step", step, same);
    session.snapshot();
    session.wait(LevelId::local);
  });
  job.reshape({3, 2});
  const std::vector<std::pair<std::string, bool>> mistakes = {{"kind", true}, {"missing", false}, {"new", false}};
  for (const auto& [mistake, would_help] : mistakes) {
    SCOPED_TRACE(mistake);
    job.run_and_die([&, mistake = mistake, would_help = would_help](JobSession& session) {
      std::vector<int> x;
      std::vector<int> y;
      int step = 0;
      if (mistake == "kind")
        session.protect("x", x);
      else
        session.protect("x", x, sequence);
      if (mistake != "missing") session.protect("step", step, same);
      if (mistake == "new") session.protect("y", y, like("x"));
      const auto thrown = thrown_by([&] { session.restore(); });
      ASSERT_EQ(thrown.size(), 1U);
      const std::string& text = thrown.front().text;
      EXPECT_THAT(text, StartsWith("version 1 was written by 4 ranks, this job has 3: "));
      EXPECT_EQ(text.find("start 4 application ranks") != std::string::npos, would_help) << text;
    });
  }
}

// Here, the old number of ranks is that of today.
TEST(ElasticReport, names_a_region_without_a_kind_if_as_many_ranks_have_other_parts_of_an_array) {
  Job job({3, 3}, elastic_settings(""));
  for (const bool columns : {false, true}) {
    job.run_and_die([&](JobSession& session) {
      std::vector<int> cells(4);
      int step = 1;
      const std::uint64_t rank = session.rank();
      if (columns)
        session.protect("cells", cells.data(), {4, 1}, GlobalPlace{{4, 4}, {0, rank}});
      else
        session.protect("cells", cells.data(), {1, 4}, GlobalPlace{{4, 4}, {rank, 0}});
      session.protect("step", step);
      if (columns) {
        const auto thrown = thrown_by([&] { session.restore(); });
        EXPECT_THAT(thrown, Fails(ErrorKind::mismatch, {"step", "a kind"}));
        EXPECT_THAT(thrown.front().text, Not(HasSubstr("number of ranks")));
        return;
      }
      session.snapshot();
      session.wait(LevelId::local);
    });
  }
}

// On each process's own clock, a call takes 10 s of work, and a snapshot 1 s. Returns the calls that have taken one.
// Each node has a rank and a head.
std::vector<std::uint32_t> calls_with_snapshot(Job& job, std::uint32_t calls) {
  std::array<std::atomic<std::int64_t>, 6> clocks{};
  job.clock = [&](std::uint32_t world_rank) { return std::chrono::seconds(clocks.at(world_rank).load()); };
  job.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    return std::make_shared<HookedStore>(std::move(store), [&, node](const HookedStore::Operation& operation) {
      const bool is_shard = names::parse_shard(operation.path.substr(operation.path.find('/') + 1)).has_value();
      if (is_shard && operation.kind == HookedStore::Operation::Kind::create) ++clocks.at(std::size_t{2} * node);
      return Status{};
    });
  };
  std::vector<std::uint32_t> taken;
  job.run_well_and_die([&](JobSession& session) {
    Grid grid(session);
    grid.restore();
    for (std::uint32_t call = 1; call <= calls; ++call) {
      clocks.at(std::size_t{2} * session.rank()) += 10;
      if (!grid.advance()) continue;
      session.wait(LevelId::local);
      if (session.rank() == 0) taken.push_back(call);
    }
  });
  job.wrap_node = {};
  job.clock = {};
  return taken;
}

TEST(ElasticReport, measures_the_costs_of_levels_anew) {
  Job job({2, 2},
          "[levels]\nl1 = auto\nl2 = off\nl3 = off\nl4 = off\n[failures]\nmtbf = 1h, 6h, 2d, 20d\n[restart]\nat_end = "
          "continue\n");
  calls_with_snapshot(job, 40);
  EXPECT_GE(calls_with_snapshot(job, 40).front(), 5U) << "it knows what they cost";
  job.reshape({2, 2, 2});
  const auto calls = calls_with_snapshot(job, 40);
  ASSERT_GE(calls.size(), 2U);
  EXPECT_EQ(calls[0], 1U) << "it replaces the snapshot of other ranks";
  EXPECT_EQ(calls[1], 2U) << "it looks what levels cost";
}

}  // namespace
}  // namespace cairn::test
