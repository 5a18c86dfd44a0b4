// A job restores a version that somebody has chosen, and stays on its branch.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recover/chain.hpp"
#include "recover/retention.hpp"
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

// Restores, and checks that the state is that of a step; a version of 0 is no choice.
void restore_step(JobSession& session, std::uint32_t version, std::uint32_t step, std::uint32_t steps_after = 0) {
  Steps steps(session, kState);
  EXPECT_EQ(steps.restore(version), step);
  steps.advance_by(steps_after);
  steps.wait_for_all();
}

void expect_step(Job& job, std::uint32_t version, std::uint32_t step, std::uint32_t steps_after = 0) {
  job.run_well_and_die([&](JobSession& session) { restore_step(session, version, step, steps_after); });
}

// Versions 1 to 4 in the node stores, 2 and 4 in the global one.
Job job_of_four_versions() {
  Job job({2, 2, 2}, kSettings);
  job.log_level = "off";
  expect_step(job, 0, 0, 4);
  return job;
}

TEST(Choice, restores_that_version_and_not_a_newer_one) {
  for (std::uint32_t version = 1; version <= 4; ++version) {
    Job job = job_of_four_versions();
    expect_step(job, version, version);
  }
}

TEST(Choice, holds_in_later_lives_also_if_no_snapshot_of_the_branch_was_taken) {
  Job job = job_of_four_versions();
  expect_step(job, 2, 2);
  expect_step(job, 0, 2);
  expect_step(job, 0, 2, 1);
  expect_step(job, 0, 3, 1);
}

TEST(Choice, is_not_taken_again_by_the_same_call_in_a_later_life) {
  Job job = job_of_four_versions();
  expect_step(job, 2, 2, 1);
  expect_step(job, 2, 3, 1);
  expect_step(job, 2, 4);
}

TEST(Choice, is_taken_again_by_a_later_call_of_the_same_life) {
  Job job = job_of_four_versions();
  const auto go_back = [](JobSession& session) {
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(2), 2U);
    steps.advance_by(2);
    EXPECT_EQ(steps.restore(2), 2U);
    steps.advance();
    steps.wait_for_all();
  };
  job.run_well_and_die(go_back);
  expect_step(job, 0, 3);
}

// Node stores keep one version, the global store all.
TEST(Choice, reaches_versions_of_this_life_that_only_the_global_store_has) {
  std::string settings = kSettings;
  for (const auto& [is, becomes] :
       {std::pair("keep_local = 4", "keep_local = 1"), std::pair("keep_global = 3", "keep_global = 9"),
        std::pair("l2 = every 1", "l2 = off"), std::pair("l4 = every 2", "l4 = every 1")})
    settings.replace(settings.find(is), std::string(is).size(), becomes);
  Job job({2, 2, 2}, settings);
  job.log_level = "off";
  const auto go_back = [](JobSession& session) {
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(), 0U);
    for (const char* label : {"first", "second", "third", "fourth", "fifth"}) {
      session.label(label);
      steps.advance();
    }
    steps.wait_for_all();
    EXPECT_EQ(steps.restore_label("second"), 2U);
    EXPECT_EQ(steps.restore(3), 3U);
    steps.advance();
    steps.wait_for_all();
    EXPECT_EQ(steps.restore_label("first"), 1U);
  };
  job.run_well_and_die(go_back);
  expect_step(job, 0, 1);
}

// The user's choice is still in the environment, but the program has chosen otherwise since.
TEST(Choice, at_the_start_is_not_taken_again_after_another_choice_of_the_program) {
  Job job = job_of_four_versions();
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore(3), 3U);
    EXPECT_EQ(steps.restore(2), 2U);
  });
  expect_step(job, 3, 2);
}

TEST(Choice, of_the_user_comes_before_that_of_the_program_and_can_be_made_again) {
  const auto with_version = [](const std::string& version) { return std::string(kSettings) + "version = " + version; };
  Job job = job_of_four_versions();
  job.configure(with_version("2"));
  expect_step(job, 3, 2, 1);
  expect_step(job, 3, 3, 1);
  job.configure(with_version("2 again"));
  expect_step(job, 0, 2, 1);
  job.configure(with_version("2"));
  expect_step(job, 0, 3);
  job.configure(with_version("newest"));
  expect_step(job, 0, 3);
}

TEST(Choice, of_an_abandoned_version_leads_back_to_its_branch) {
  Job job = job_of_four_versions();
  expect_step(job, 2, 2);
  expect_step(job, 4, 4);
  expect_step(job, 0, 4, 1);
  expect_step(job, 0, 5);
}

TEST(Choice, falls_back_to_an_older_version_of_the_branch_and_not_to_a_newer_one_that_was_abandoned) {
  Job job = job_of_four_versions();
  expect_step(job, 3, 3);
  const auto lose_version_3 = [&](MemoryStore& store) {
    const auto entries = store.list(DirName{});
    for (const names::SnapshotDir& dir : names::snapshots_in(*entries)) {
      if (dir.version.value != 3) continue;
      ASSERT_TRUE(store.remove_directory(names::directory_of(dir)));
    }
  };
  for (std::uint32_t node = 0; node < job.nodes(); ++node) lose_version_3(job.node_store(node));
  expect_step(job, 0, 2);
}

TEST(Choice, survives_the_loss_of_a_node) {
  Job job = job_of_four_versions();
  expect_step(job, 3, 3);
  job.lose(1);
  expect_step(job, 0, 3);
}

TEST(Choice, retires_abandoned_versions_level_by_level) {
  const LevelSet l1 = LevelSet{LevelId::local};
  const LevelSet both = LevelSet{LevelId::local, LevelId::partner};
  const auto known = [](std::uint32_t version, LevelSet complete, bool abandoned = false) {
    return KnownSnapshot{{Incarnation{1}, Version{version}, RunId{1}}, complete, {}, false, abandoned};
  };
  const auto retired = [](const std::vector<KnownSnapshot>& all) {
    std::vector<std::uint32_t> versions;
    for (const Identity& id : retirable(all, {{2, 1, 1, 1}}, make_levels().in_node_stores()))
      versions.push_back(id.version.value);
    return versions;
  };
  using Versions = std::vector<std::uint32_t>;
  EXPECT_EQ(retired({known(1, both), known(2, both, true), known(3, both, true)}), Versions{});
  EXPECT_EQ(retired({known(1, both), known(2, both, true), known(3, l1, true), known(4, l1)}), Versions{3});
  EXPECT_EQ(retired({known(1, both), known(2, both, true), known(3, l1, true), known(4, both)}), (Versions{2, 3}));
}

// Whether any node store has it.
bool has_version(Job& job, std::uint32_t version) {
  return std::ranges::count(contents_of(job.node_store(0)).versions, version) > 0;
}

TEST(Choice, keeps_abandoned_versions_until_one_of_the_branch_has_reached_their_levels) {
  Job job = job_of_four_versions();
  expect_step(job, 2, 2);
  EXPECT_TRUE(has_version(job, 3) && has_version(job, 4));
  EXPECT_EQ(contents_of(job.global_store()).versions, (std::vector<std::uint32_t>{2, 4}));
  expect_step(job, 0, 2, 1);  // version 5 at L1 and L2
  EXPECT_FALSE(has_version(job, 3) || has_version(job, 4));
  EXPECT_TRUE(has_version(job, 1) && has_version(job, 2));
  EXPECT_EQ(contents_of(job.global_store()).versions, (std::vector<std::uint32_t>{2, 4}));
  expect_step(job, 0, 3, 1);  // version 6 at L4
  EXPECT_EQ(contents_of(job.global_store()).versions, (std::vector<std::uint32_t>{2, 6}));
}

TEST(Choice, reaches_a_version_of_a_chain_that_has_finished) {
  Job job({2, 2, 2}, kSettings);
  job.log_level = "off";
  std::string settings = kSettings;
  job.configure(settings.replace(settings.find("continue\n", settings.find("at_end")), 8, "finished"));
  job.run([](JobSession& session) { restore_step(session, 0, 0, 4); });
  job.configure(kSettings);
  expect_step(job, 0, 0, 2);  // another chain
  expect_step(job, 2, 2);     // the older chain: versions 5 and 6 are of the other one
  expect_step(job, 0, 2, 1);
  expect_step(job, 0, 3);
}

TEST(Choice, of_a_version_that_is_not_there_names_those_that_are_and_changes_nothing) {
  Job job = job_of_four_versions();
  job.run_and_die([](JobSession& session) { session.restore(9); });
  ASSERT_TRUE(job.cause());
  EXPECT_THAT(*job.cause(), Fails(ErrorKind::unrecoverable, {"no version 9", "1, 2, 3, 4"}));
  expect_step(job, 0, 4);
}

TEST(Choice, of_a_version_that_is_not_recoverable_names_what_is_missing_and_what_is_there) {
  Job job = job_of_four_versions();
  job.lose(0);
  job.lose(1);
  job.run_and_die([](JobSession& session) { session.restore(3); });
  ASSERT_TRUE(job.cause());
  EXPECT_THAT(*job.cause(), Fails(ErrorKind::unrecoverable, {"version 3", "no source for rank", "2, 4"}));
  expect_step(job, 2, 2);
}

TEST(Choice, must_be_the_same_on_all_ranks) {
  for (const std::uint32_t other : {0U, 3U}) {
    Job job = job_of_four_versions();
    job.run_and_die([&](JobSession& session) {
      Steps steps(session, kState);
      steps.restore(session.rank() == 2 ? other : 2);
    });
    ASSERT_TRUE(job.cause());
    EXPECT_THAT(*job.cause(), Fails(ErrorKind::mismatch, {"version 2", other == 0 ? "newest" : "version 3"}));
    expect_step(job, 0, 4);
  }
}

TEST(Choice, is_left_to_the_fresh_start_that_the_user_has_asked_for) {
  Job job = job_of_four_versions();
  job.configure(std::string(kSettings) + "mode = fresh\n");
  expect_step(job, 2, 0);
}

TEST(Choice, holds_for_a_restore_on_another_number_of_ranks) {
  Job job({2, 2, 2}, kSettings);
  job.log_level = "off";
  const auto take = [](std::uint32_t version, std::uint32_t value, std::uint32_t count) {
    return [=](JobSession& session) {
      std::uint32_t step = 0;
      session.protect("step", step, same);
      if (version != 0)
        session.restore(version);
      else
        session.restore();
      EXPECT_EQ(step, value);
      for (std::uint32_t i = 0; i < count; ++i) {
        ++step;
        session.snapshot();
      }
      session.wait(LevelId::partner);
    };
  };
  job.run_well_and_die(take(0, 0, 4));
  job.reshape({2, 3});
  job.run_well_and_die(take(2, 2, 0));
  job.run_well_and_die(take(0, 2, 0));
  job.run_well_and_die(take(2, 2, 1));
  job.run_well_and_die(take(2, 3, 0));
}

// Four versions, of which the second has the label "peak" and the third "end".
Job job_with_labels() {
  Job job({2, 2, 2}, kSettings);
  job.log_level = "off";
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session, kState);
    steps.restore();
    for (std::uint32_t i = 1; i <= 4; ++i) {
      if (i == 2 || i == 3) session.label(i == 2 ? "peak" : "end");
      steps.advance();
    }
    steps.wait_for_all();
  });
  return job;
}

// Restores by a label, and checks that the state is that of a step; then takes a step with a label.
void expect_label(Job& job, const std::string& label, std::uint32_t step, const std::string& next = {}) {
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session, kState);
    EXPECT_EQ(steps.restore_label(label), step);
    if (next.empty()) return;
    session.label(next);
    steps.advance();
    steps.wait_for_all();
  });
}

TEST(Choice, by_a_label_restores_the_newest_snapshot_with_it) {
  Job job = job_with_labels();
  expect_label(job, "peak", 2, "end");
  expect_step(job, 0, 3);
  expect_step(job, 4, 4);
  expect_label(job, "end", 3);  // of the other branch
}

TEST(Choice, by_a_label_is_not_taken_again_even_if_a_newer_snapshot_has_it) {
  Job job = job_with_labels();
  expect_label(job, "peak", 2, "peak");
  expect_step(job, 0, 3, 1);
  expect_label(job, "peak", 4);
}

TEST(Choice, by_a_label_in_the_configuration_is_taken_once) {
  Job job = job_with_labels();
  job.configure(std::string(kSettings) + "version = peak");
  expect_step(job, 0, 2, 1);
  expect_step(job, 0, 3, 1);
  job.configure(std::string(kSettings) + "version = peak again");
  expect_step(job, 0, 2);
  job.configure(std::string(kSettings) + "version = 6");
  expect_step(job, 0, 4);
  job.configure(std::string(kSettings) + "version = peak");
  expect_step(job, 0, 2);
}

TEST(Choice, by_a_label_finds_it_in_any_store) {
  for (std::uint32_t lost = 0; lost < 3; ++lost) {
    Job job = job_with_labels();
    job.lose(lost);
    expect_label(job, "end", 3);
  }
  Job job = job_with_labels();
  for (std::uint32_t node = 0; node < 3; ++node) job.lose(node);
  expect_label(job, "peak", 2);
}

TEST(Choice, by_a_label_that_no_snapshot_has_lists_the_labels) {
  Job job = job_with_labels();
  job.run_and_die([](JobSession& session) { session.restore(Label{"peek"}); });
  ASSERT_TRUE(job.cause());
  EXPECT_THAT(*job.cause(),
              Fails(ErrorKind::unrecoverable, {"\"peek\"", "\"end\" (version 3)", "\"peak\" (version 2)"}));
  expect_step(job, 0, 4);
  Job without = job_of_four_versions();
  without.run_and_die([](JobSession& session) { session.restore(Label{"peek"}); });
  EXPECT_THAT(*without.cause(), Fails(ErrorKind::unrecoverable, {"\"peek\", nor any other"}));
}

// Only the global store is left, with versions 2 and 4, of which the newer one's manifest is damaged.
TEST(Choice, by_a_label_names_newer_snapshots_whose_label_is_unreadable) {
  Job job = job_with_labels();
  for (std::uint32_t node = 0; node < 3; ++node) job.lose(node);
  std::string manifest;
  const auto entries = job.global_store().list(DirName{});
  for (const Entry& entry : *entries) {
    if (entry.name.starts_with("v00000004")) manifest = entry.name + "/manifest.json";
  }
  ASSERT_TRUE(job.global_store().corrupt(FileName{manifest}, 300));
  const Job::Image image = job.image();
  job.log_level = "warning";
  const LogReading log;
  expect_label(job, "peak", 2);
  const auto names_it = [&](const auto& line) {
    return line.second.find("newer version 4") != std::string::npos && line.second.find(manifest) != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count_if(log.lines(), names_it), 1);
  job.put_back(image);
  job.run_and_die([](JobSession& session) { session.restore(Label{"peek"}); });
  EXPECT_THAT(*job.cause(),
              Fails(ErrorKind::unrecoverable, {"\"peek\"", "\"peak\" (version 2)", "version 4", manifest}));
}

// A copy of its manifest in a node's store has the label.
TEST(Choice, by_a_label_does_not_name_a_snapshot_whose_label_another_store_has) {
  Job job = job_with_labels();
  const auto entries = job.global_store().list(DirName{});
  for (const Entry& entry : *entries) {
    if (!entry.name.starts_with("v00000004")) continue;
    ASSERT_TRUE(job.global_store().corrupt(FileName{entry.name + "/manifest.json"}, 300));
  }
  job.log_level = "warning";
  const LogReading log;
  expect_label(job, "peak", 2);
  for (const auto& [level, line] : log.lines()) EXPECT_EQ(line.find("newer version"), std::string::npos) << line;
}

TEST(Choice, by_a_label_must_be_the_same_on_all_ranks) {
  for (const std::string other : {"end", ""}) {
    Job job = job_with_labels();
    job.run_and_die([&](JobSession& session) {
      Steps steps(session, kState);
      if (session.rank() == 2 && other.empty())
        steps.restore();
      else
        steps.restore_label(session.rank() == 2 ? other : "peak");
    });
    ASSERT_TRUE(job.cause());
    EXPECT_THAT(*job.cause(), Fails(ErrorKind::mismatch, {"label"}));
    expect_step(job, 0, 4);
  }
}

// The whole life of a choice, until a snapshot of its branch is taken. A rank that meets an error ends the job.
void choose_and_go_on(JobSession& session) {
  try {
    Steps steps(session, kState);
    steps.restore(2);
    steps.advance();
    steps.wait_for_all();
    session.finalize();
  } catch (const Exception&) {
    session.kill_job();
    throw;
  }
}

using Wrap = std::function<void(Job&, const std::shared_ptr<FaultPlan>&)>;

void wrap_all(Job& job, const std::shared_ptr<FaultPlan>& plan) {
  job.wrap_node = [plan](std::uint32_t, auto store) { return std::make_shared<FaultyStore>(store, plan); };
  job.wrap_global = [plan](auto store) { return std::make_shared<FaultyStore>(store, plan); };
}

bool is_recorded(Job& job) {
  const auto chain = read_chain(job.global_store(), Log::silent(), {});
  return chain && chain->chosen_at_start.version == Version{2};
}

// Whatever was written by then, the next life without a choice finds either branch whole: the old one as long as the
// choice is not recorded, the new one from then on. The life after makes the same call again, and chooses once.
TEST(Choice, crash_at_any_store_operation_leaves_it_taken_or_not) {
  const Job prepared = job_of_four_versions();
  const Job::Image image = prepared.image();
  bool crashed = true;
  for (std::uint64_t n = 0; crashed && !HasFailure(); ++n) {
    SCOPED_TRACE("crash at operation " + std::to_string(n));
    ASSERT_LT(n, 5000U) << "the sweep does not come to an end";
    Job job({2, 2, 2}, kSettings);
    job.log_level = "off";
    job.put_back(image);
    const auto plan = std::make_shared<FaultPlan>();
    wrap_all(job, plan);
    plan->crash_at(n);
    job.run_and_die(choose_and_go_on);
    crashed = plan->has_failed();
    plan->heal();
    const bool recorded = is_recorded(job);
    const Job::Image after = job.image();
    std::atomic<std::uint32_t> found{0};
    job.run_well_and_die([&](JobSession& session) { found = Steps(session, kState).restore(); });
    if (recorded)
      EXPECT_TRUE(found == 2 || found == 3) << found;
    else
      EXPECT_EQ(found, 4U);
    job.put_back(after);
    const std::uint32_t same_call = recorded ? found.load() : 2;
    expect_step(job, 2, same_call, 1);
    expect_step(job, 2, same_call + 1);
  }
}

}  // namespace
}  // namespace cairn::test
