// Snapshots are opened and read while the job runs, and nothing is restored by that.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/names.hpp"
#include "support/branch_settings.hpp"
#include "support/facts.hpp"
#include "support/faulty_store.hpp"
#include "support/job.hpp"
#include "support/log_reading.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

constexpr std::size_t kState = 300;

const std::string kSettings = branch_settings(4, 3);

std::string settings(const std::string& levels, const std::string& more = {}) {
  return "[job]\non_storage_error = throw\n[storage]\nkeep_local = 1\n[restart]\nat_end = continue\n[levels]\n" +
         levels + more;
}

// What Steps has at a step is what the snapshot has.
void expect_contents(const OpenSnapshot& open, const SessionBase& session, std::uint32_t step) {
  EXPECT_EQ(open.read<double>("state"), sample_state(session.rank(), step, kState));
  EXPECT_EQ(open.read<std::uint32_t>("step"), std::vector<std::uint32_t>{step});
}

// Opens a version, whose step has its number, compares it, and closes it.
void expect_version(JobSession& session, std::uint32_t version) {
  OpenSnapshot open = session.open_snapshot(version);
  EXPECT_EQ(open.version(), version);
  expect_contents(open, session, version);
  EXPECT_TRUE(open.close());
}

// Versions 1 to 4 in the node stores, 2 and 4 in the global one.
Job job_of_four_versions(const std::string& with = kSettings) {
  Job job({2, 2, 2}, with);
  job.log_level = "off";
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session, kState);
    steps.restore();
    steps.advance_by(4);
    steps.wait_for_all();
  });
  return job;
}

void expect_step(Job& job, std::uint32_t step, std::uint32_t steps_after = 0) {
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(), step);
    steps.advance_by(steps_after);
    steps.wait_for_all();
  });
}

bool has_version(Job& job, std::uint32_t node, std::uint32_t version) {
  return std::ranges::count(contents_of(job.node_store(node)).versions, version) > 0;
}

TEST(OpenSnapshot, reads_any_version_before_restore_which_then_restores_the_newest) {
  Job job = job_of_four_versions();
  job.run_well_and_die([](JobSession& session) {
    for (std::uint32_t version = 1; version <= 4; ++version) expect_version(session, version);
    const OpenSnapshot newest = session.open_snapshot();
    EXPECT_EQ(newest.version(), 4U);
    EXPECT_EQ(newest.incarnation(), 1U);
    expect_contents(newest, session, 4);
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(), 4U);
    expect_contents(newest, session, 4);
  });
  expect_step(job, 4);
}

TEST(OpenSnapshot, is_read_between_snapshots_and_changes_neither_regions_nor_what_is_restored) {
  const std::string by_calls = kSettings;
  std::string by_time = kSettings;  // ranks agree on it all the time
  by_time.replace(by_time.find("every 2"), 7, "10min");
  for (const std::string& settings : {by_calls + "[head]\nmode = rank\n", by_calls + "[head]\nmode = thread\n",
                                      by_calls + "[head]\nmode = inline\n", by_time}) {
    SCOPED_TRACE(settings);
    Job job = job_of_four_versions(settings);
    job.run_well_and_die([](JobSession& session) {
      Steps steps(session, kState);
      EXPECT_EQ(steps.restore(), 4U);
      steps.advance();
      steps.compute();
      expect_version(session, 3);
      expect_version(session, 5);
      session.snapshot();
      expect_version(session, 6);
      steps.wait_for_all();
      EXPECT_EQ(steps.step(), 6U);
      EXPECT_EQ(steps.restore(), 6U);
    });
    expect_step(job, 6, 1);
    expect_step(job, 7);
  }
}

TEST(OpenSnapshot, lists_this_ranks_regions_label_and_attributes) {
  Job job({2, 2}, kSettings);
  job.log_level = "off";
  job.run_well_and_die([](JobSession& session) {
    std::vector<float> grid(6, 1.5F);
    std::uint32_t rank = session.rank();
    session.protect("grid", grid);
    if (session.rank() == 1) session.protect("only here", rank);
    session.restore();
    session.label("peak");
    session.attribute("time", 0.25);
    session.snapshot();
    session.wait(LevelId::partner);
  });
  for (std::uint32_t lost = 0; lost < 2; ++lost) {
    Job half = [&] {
      Job copy({2, 2}, kSettings);
      copy.log_level = "off";
      copy.put_back(job.image());
      return copy;
    }();
    half.lose(lost);
    half.run_well_and_die([](JobSession& session) {
      const OpenSnapshot open = session.open_snapshot(Label{"peak"});
      EXPECT_EQ(open.label(), "peak");
      ASSERT_EQ(open.attributes().size(), 1U);
      EXPECT_EQ(open.attributes().front().name, "time");
      ASSERT_EQ(open.regions().size(), session.rank() == 1 ? 2U : 1U);
      const SnapshotRegion& grid = open.regions().front();
      EXPECT_EQ(grid.name, "grid");
      EXPECT_EQ(grid.element, Element::float32);
      EXPECT_EQ(grid.shape, std::vector<std::uint64_t>{6});
      EXPECT_EQ(grid.elements, 6U);
      EXPECT_EQ(grid.bytes, 24U);
      // Ranks may read different regions.
      if (session.rank() != 1) return;
      EXPECT_EQ(open.read<std::uint32_t>("only here"), std::vector<std::uint32_t>{1});
    });
  }
}

TEST(OpenSnapshot, comes_from_every_level_and_changes_no_store) {
  const struct {
    const char* levels;
    std::vector<std::uint32_t> lost;
  } cases[] = {
      {"l1 = every 1\nl2 = every 1\nl3 = off\nl4 = off\n", {1}},
      {"l1 = every 1\nl2 = off\nl3 = every 1\nl4 = off\n[erasure]\ngroup = 3\nparity = 1\n", {2}},
      {"l1 = every 1\nl2 = off\nl3 = off\nl4 = every 1\n", {0, 1, 2}},
      {"l1 = every 1\nl2 = off\nl3 = off\nl4 = every 1\n", {1}},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.levels);
    Job job = job_of_four_versions(settings(one.levels));
    for (const std::uint32_t node : one.lost) job.lose(node);
    job.run_well_and_die([&](JobSession& session) {
      const OpenSnapshot open = session.open_snapshot();
      expect_contents(open, session, 4);
      // Its head has removed what it has brought before it answered.
      const auto entries = job.node_store(session.rank()).list(DirName{});
      ASSERT_TRUE(entries);
      EXPECT_TRUE(entries->empty() || std::ranges::count(one.lost, session.rank()) == 0);
      expect_version(session, 4);
      Steps steps(session, kState);
      EXPECT_EQ(steps.restore(), 4U);
      steps.advance();
      steps.wait_for_all();
      expect_contents(open, session, 4);
    });
    expect_step(job, 5);
  }
}

TEST(OpenSnapshot, reads_a_version_of_a_chain_that_has_finished_in_a_job_that_began_fresh) {
  std::string finished = kSettings;
  finished.replace(finished.find("continue\n", finished.find("at_end")), 8, "finished");
  Job job({2, 2, 2}, finished);
  job.log_level = "off";
  job.run([](JobSession& session) {
    Steps steps(session, kState);
    steps.restore();
    steps.advance_by(2);
  });
  job.configure(kSettings);
  job.run_well_and_die([](JobSession& session) {
    EXPECT_THAT(thrown_by([&] { static_cast<void>(session.open_snapshot()); }),
                Fails(ErrorKind::unrecoverable, {"no snapshot"}));
    expect_version(session, 2);
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(), 0U);
    steps.advance();
    steps.wait_for_all();
    expect_version(session, 2);
    const OpenSnapshot newest = session.open_snapshot();
    EXPECT_EQ(newest.version(), 3U);
  });
  expect_step(job, 1);
}

TEST(OpenSnapshot, stays_in_the_stores_while_it_is_open_and_takes_no_slot) {
  Job job({2, 2}, settings("l1 = every 1\nl2 = every 2\nl3 = off\nl4 = off\n"));
  job.log_level = "off";
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session, kState);
    steps.restore();
    steps.advance();
    OpenSnapshot open = session.open_snapshot(1);
    steps.advance_by(9);
    steps.wait_for_all();
    expect_version(session, steps.step());  // all ranks are here
    EXPECT_TRUE(has_version(job, 0, 1) && has_version(job, 1, 1));
    EXPECT_FALSE(has_version(job, 0, 2));
    expect_contents(open, session, 1);
    OpenSnapshot same = session.open_snapshot(1);
    EXPECT_TRUE(open.close());
    steps.advance_by(2);
    steps.wait_for_all();
    expect_version(session, steps.step());
    EXPECT_TRUE(has_version(job, 0, 1));
    expect_contents(same, session, 1);
    EXPECT_TRUE(same.close());
    expect_version(session, steps.step());
    steps.advance_by(2);
    steps.wait_for_all();
    expect_version(session, steps.step());
    EXPECT_FALSE(has_version(job, 0, 1) || has_version(job, 1, 1));
  });
  expect_step(job, 14);
}

TEST(OpenSnapshot, that_is_dropped_without_close_does_not_stay) {
  Job job({2, 3}, settings("l1 = every 1\nl2 = off\nl3 = off\nl4 = off\n"));
  job.log_level = "off";
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session, kState);
    steps.restore();
    steps.advance();
    std::optional<OpenSnapshot> open = session.open_snapshot(1);
    OpenSnapshot moved = *std::move(open);
    open.reset();
    expect_contents(moved, session, 1);
    if (session.rank() != 1) const OpenSnapshot dropped = std::move(moved);
    steps.advance_by(3);
    session.wait(LevelId::local);
    expect_version(session, 4);
    EXPECT_FALSE(has_version(job, 0, 1));
    EXPECT_TRUE(has_version(job, 1, 1));  // of rank 1
    EXPECT_EQ(moved.is_open(), session.rank() == 1);
    if (moved.is_open()) expect_contents(moved, session, 1);
  });
}

TEST(OpenSnapshot, that_one_rank_rejects_is_given_no_more) {
  Job job = job_of_four_versions();
  job.run_well_and_die([](JobSession& session) {
    OpenSnapshot open = session.open_snapshot();
    EXPECT_EQ(open.version(), 4U);
    EXPECT_FALSE(open.close(session.rank() != 2));
    EXPECT_FALSE(open.is_open());
    EXPECT_THAT(thrown_by([&] { static_cast<void>(session.open_snapshot(4)); }),
                Fails(ErrorKind::unrecoverable, {"version 4", "rejected", "1, 2, 3"}));
    OpenSnapshot older = session.open_snapshot();
    EXPECT_EQ(older.version(), 3U);
    EXPECT_TRUE(older.close());
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(), 3U);
  });
  // The branch of version 3, without a snapshot of it yet.
  expect_step(job, 3, 1);
  expect_step(job, 4);
}

TEST(OpenSnapshot, that_is_rejected_later_is_left_out_by_the_next_restore) {
  Job job = job_of_four_versions();
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(), 4U);
    steps.advance_by(2);
    EXPECT_FALSE(session.open_snapshot(6).close(false));
    EXPECT_FALSE(session.open_snapshot(4).close(false));
    EXPECT_EQ(steps.restore(), 5U);
    EXPECT_FALSE(session.open_snapshot(5).close(false));
    EXPECT_EQ(steps.restore(), 3U);
    steps.advance();
    steps.wait_for_all();
  });
  expect_step(job, 4);
}

// The job dies before it has restored or taken another one.
TEST(OpenSnapshot, that_was_rejected_is_restored_by_no_later_run_unless_it_is_chosen) {
  Job job = job_of_four_versions();
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(), 4U);
    EXPECT_FALSE(session.open_snapshot(4).close(session.rank() != 1));
    EXPECT_FALSE(session.open_snapshot(3).close(false));
    session.wait(LevelId::local);
  });
  job.run_well_and_die([](JobSession& session) {
    EXPECT_EQ(session.open_snapshot().version(), 2U);
    expect_version(session, 4);  // whoever asks for it gets it
  });
  expect_step(job, 2);
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(4), 4U);
  });
  expect_step(job, 4);
}

// Two of them have the label.
TEST(OpenSnapshot, that_was_rejected_is_not_meant_by_its_label) {
  Job job({2, 2}, kSettings);
  job.log_level = "off";
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session, kState);
    steps.restore();
    for (int i = 0; i < 2; ++i) {
      session.label("peak");
      steps.advance();
    }
    steps.wait_for_all();
    EXPECT_FALSE(session.open_snapshot(2).close(false));
    session.wait(LevelId::local);
  });
  job.run_well_and_die([](JobSession& session) { EXPECT_EQ(session.open_snapshot(Label{"peak"}).version(), 1U); });
}

TEST(OpenSnapshot, of_which_all_are_rejected_leaves_none_to_restore) {
  Job job = job_of_four_versions();
  job.run_and_die([](JobSession& session) {
    Steps steps(session, kState);
    for (std::uint32_t version = 4; version > 0; --version) {
      OpenSnapshot open = session.open_snapshot();
      EXPECT_EQ(open.version(), version);
      EXPECT_FALSE(open.close(false));
    }
    EXPECT_THAT(thrown_by([&] { static_cast<void>(session.open_snapshot()); }),
                Fails(ErrorKind::unrecoverable, {"version 4", "version 1", "rejected"}));
    session.restore();
  });
  ASSERT_TRUE(job.cause());
  EXPECT_THAT(*job.cause(), Fails(ErrorKind::unrecoverable, {"version 4", "version 1", "rejected"}));
  expect_step(job, 4);  // nothing was restored instead
}

TEST(OpenSnapshot, that_is_the_rejected_state_of_the_job_does_not_end_it) {
  std::string finished = kSettings;
  finished.replace(finished.find("continue\n", finished.find("at_end")), 8, "finished");
  Job job = job_of_four_versions(finished);
  job.run([](JobSession& session) {
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(), 4U);
    steps.advance();
    EXPECT_FALSE(session.open_snapshot().close(false));
  });
  EXPECT_TRUE(has_version(job, 0, 4));
  expect_step(job, 4);
}

TEST(OpenSnapshot, comes_from_elsewhere_where_a_shard_is_damaged) {
  Job job = job_of_four_versions();
  const auto shard_of = [](MemoryStore& store, std::uint32_t version, std::uint32_t rank) {
    const auto entries = store.list(DirName{});
    for (const names::SnapshotDir& dir : names::snapshots_in(*entries)) {
      if (dir.version.value == version) return names::shard(names::directory_of(dir), Rank{rank});
    }
    return FileName{};
  };
  ASSERT_TRUE(job.node_store(1).corrupt(shard_of(job.node_store(1), 4, 1), 5000));
  job.run_well_and_die([](JobSession& session) {
    expect_version(session, 4);
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(), 4U);
  });

  Job alone = job_of_four_versions("[storage]\nkeep_local = 4\n[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n");
  ASSERT_TRUE(alone.node_store(1).corrupt(shard_of(alone.node_store(1), 4, 1), 5000));
  alone.run_well_and_die([](JobSession& session) {
    EXPECT_THAT(thrown_by([&] { static_cast<void>(session.open_snapshot(4)); }),
                Fails(ErrorKind::unrecoverable, {"version 4", "1, 2, 3"}));
    EXPECT_EQ(session.open_snapshot().version(), 3U);
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(), 3U);
  });
}

TEST(OpenSnapshot, names_wrong_uses) {
  Job job = job_of_four_versions();
  job.run_well_and_die([](JobSession& session) {
    EXPECT_THAT(thrown_by([&] { static_cast<void>(session.open_snapshot(0)); }),
                Fails(ErrorKind::usage, {"version 0"}));
    EXPECT_THAT(thrown_by([&] { static_cast<void>(session.open_snapshot(9)); }),
                Fails(ErrorKind::unrecoverable, {"no version 9", "1, 2, 3, 4"}));
    EXPECT_THAT(thrown_by([&] { static_cast<void>(session.open_snapshot(Label{"12"})); }),
                Fails(ErrorKind::usage, {"open_snapshot"}));
    EXPECT_THAT(thrown_by([&] { static_cast<void>(session.open_snapshot(Label{"peak"})); }),
                Fails(ErrorKind::unrecoverable, {"\"peak\""}));
    OpenSnapshot open = session.open_snapshot(3);
    std::vector<double> into(10);
    EXPECT_THAT(thrown_by([&] { open.read("plate", into.data(), 80); }),
                Fails(ErrorKind::usage, {"\"plate\"", "version 3", "state", "step"}));
    EXPECT_THAT(thrown_by([&] { open.read("state", into.data(), 80); }),
                Fails(ErrorKind::usage, {"\"state\"", "version 3", "80"}));
    EXPECT_THAT(thrown_by([&] { open.read("step", nullptr, 80); }), Fails(ErrorKind::usage, {"\"step\"", "4 bytes"}));
    EXPECT_THAT(thrown_by([&] { static_cast<void>(open.read<float>("state")); }),
                Fails(ErrorKind::mismatch, {"\"state\"", "float32"}));
    struct Other {
      double x;
    };
    EXPECT_THAT(thrown_by([&] { static_cast<void>(open.read<Other>("state")); }),
                Fails(ErrorKind::mismatch, {"\"state\"", "Other"}));
    EXPECT_THAT(thrown_by([&] { session.finalize(); }), Fails(ErrorKind::usage, {"finalize", "version 3", "close()"}));
    EXPECT_TRUE(open.close());
    EXPECT_THAT(thrown_by([&] { open.read("state", into.data(), 80); }), Fails(ErrorKind::usage, {"closed"}));
    EXPECT_THAT(thrown_by([&] { open.close(); }), Fails(ErrorKind::usage, {"closed"}));
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(), 4U);
  });
}

TEST(OpenSnapshot, is_closed_when_its_session_ends) {
  Job job = job_of_four_versions();
  std::vector<std::optional<OpenSnapshot>> open(3);
  job.run_and_die([&](JobSession& session) { open[session.rank()] = session.open_snapshot(2); });
  for (auto& one : open) {
    ASSERT_TRUE(one);
    EXPECT_FALSE(one->is_open());
    EXPECT_THAT(thrown_by([&] { one->close(); }), Fails(ErrorKind::usage, {"closed"}));
  }
}

TEST(OpenSnapshot, of_another_number_of_ranks_is_refused_by_name) {
  Job job = job_of_four_versions();
  job.reshape({2, 3});
  job.run_well_and_die([](JobSession& session) { expect_version(session, 2); });
  job.reshape({3, 3});
  job.run_well_and_die([](JobSession& session) {
    for (const Failure& failure : thrown_by([&] { static_cast<void>(session.open_snapshot()); },
                                            [&] { static_cast<void>(session.open_snapshot(4)); }))
      EXPECT_THAT(failure, Fails(ErrorKind::mismatch, {"version 4", "3 ranks", "ckpt-tool export"}));
    EXPECT_EQ(session.size(), 4U);
  });
}

TEST(OpenSnapshot, is_a_call_of_all_ranks) {
  const std::pair<std::function<void(JobSession&)>, ErrorKind> others[] = {
      {[](JobSession& session) { session.restore(); }, ErrorKind::usage},
      {[](JobSession& session) { static_cast<void>(session.open_snapshot(2)); }, ErrorKind::mismatch},
  };
  for (const auto& [other, kind] : others) {
    Job job = job_of_four_versions();
    job.run_and_die([&, &call = other](JobSession& session) {
      if (session.rank() == 1) return call(session);
      static_cast<void>(session.open_snapshot());
    });
    ASSERT_TRUE(job.cause());
    EXPECT_THAT(*job.cause(), Fails(kind, {"open_snapshot()"}));
    expect_step(job, 4);
  }
  Job job = job_of_four_versions();
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session, kState);
    steps.restore();
    if (session.rank() != 1) {
      EXPECT_THAT(thrown_by([&] { static_cast<void>(session.open_snapshot()); }),
                  Fails(ErrorKind::usage, {"open_snapshot()", "finalize()"}));
    }
    session.finalize();
  });
  expect_step(job, 4);
}

// Opens, rejects, and restores what is older, and goes on.
void open_and_reject(JobSession& session) {
  try {
    OpenSnapshot open = session.open_snapshot(2);
    expect_contents(open, session, 2);
    OpenSnapshot newest = session.open_snapshot();
    EXPECT_EQ(newest.version(), 4U);
    newest.close(false);
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(), 3U);
    steps.advance();
    expect_contents(open, session, 2);
    open.close();
    steps.wait_for_all();
  } catch (const Exception&) {
    session.kill_job();
    throw;
  }
}

// One of three nodes has a new store, so that shards are brought.
Job job_of_a_lost_node() {
  Job job = job_of_four_versions();
  job.lose(1);
  return job;
}

// What the next life finds: version 4; or 3, once that is recorded; or the step after it. Nothing half made stays.
void expect_old_or_new_state(Job& job) {
  std::atomic<std::uint32_t> found{0};
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session, kState);
    const OpenSnapshot newest = session.open_snapshot();
    found = newest.read<std::uint32_t>("step").front();
    EXPECT_EQ(steps.restore(), found);
    EXPECT_EQ(newest.version(), session.last_restore().version);
    steps.advance();
    steps.wait_for_all();
  });
  EXPECT_TRUE(found == 3 || found == 4) << found;
  for (std::uint32_t node = 0; node < job.nodes(); ++node) {
    EXPECT_EQ(contents_of(job.node_store(node)).without_manifest, 0U) << "node " << node;
    const auto entries = job.node_store(node).list(DirName{});
    EXPECT_TRUE(std::ranges::none_of(*entries, [](const Entry& entry) { return entry.name == names::brought().path; }));
  }
}

TEST(OpenSnapshot, and_a_crash_at_any_store_operation_leaves_the_old_or_the_new_state) {
  const Job::Image before = job_of_a_lost_node().image();
  bool crashed = true;
  for (std::uint64_t n = 0; crashed && !HasFailure(); ++n) {
    SCOPED_TRACE(testing::Message() << "crash at operation " << n);
    ASSERT_LT(n, 2000U) << "the sweep does not come to an end";
    Job job({2, 2, 2}, kSettings);
    job.log_level = "off";
    job.put_back(before);
    const auto plan = std::make_shared<FaultPlan>();
    job.wrap_node = [plan](std::uint32_t, auto store) { return std::make_shared<FaultyStore>(store, plan); };
    job.wrap_global = [plan](auto store) { return std::make_shared<FaultyStore>(store, plan); };
    plan->crash_at(n);
    job.run_and_die(open_and_reject);
    crashed = plan->has_failed();
    plan->heal();
    job.wrap_node = {};
    job.wrap_global = {};
    expect_old_or_new_state(job);
  }
}

TEST(OpenSnapshot, and_a_crash_at_a_message_leaves_the_old_or_the_new_state) {
  const Job::Image before = job_of_a_lost_node().image();
  bool crashed = true;
  for (std::uint64_t n = 0; crashed && !HasFailure(); n += 13) {
    SCOPED_TRACE(testing::Message() << "crash at message operation " << n);
    ASSERT_LT(n, 20000U) << "the sweep does not come to an end";
    Job job({2, 2, 2}, kSettings);
    job.log_level = "off";
    job.put_back(before);
    job.message_faults = std::make_shared<CommFaultPlan>();
    job.message_faults->first_failing = n;
    job.run_and_die(open_and_reject);
    crashed = job.message_faults->failing;
    job.message_faults.reset();
    expect_old_or_new_state(job);
  }
}

}  // namespace
}  // namespace cairn::test
