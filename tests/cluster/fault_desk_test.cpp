// Heads find out which node is sick, and report it in the log and in health.json.
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/health_file.hpp"
#include "format/suspicion_file.hpp"
#include "format/symptom_file.hpp"
#include "format/watch_file.hpp"
#include "store/names.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using localize::Fault;

constexpr const char* kSettings =
    "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n";

std::chrono::microseconds steady(std::uint32_t /*world_rank*/) {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch());
}

std::optional<HealthFile> health_of(Job& job) {
  const auto text = read_text(job.global_store(), names::health());
  if (!text) return {};
  const auto health = parse_health_file(*text);
  EXPECT_TRUE(health) << health.error().text();
  return health ? std::optional(*health) : std::nullopt;
}

// Takes steps until this is so, or for so many. The first rank that finds it so ends the job: others may already be in
// a later step, and would wait there for this rank.
template <class Condition>
void advance_until(Condition condition, int most, JobSession& session, Steps& steps) {
  for (int i = 0; i < most; ++i) {
    if (condition()) return session.kill_job();
    steps.advance();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// A job whose node 1 fails to make shards while `fails` is set.
struct FailingJob {
  explicit FailingJob(std::string settings, std::vector<std::uint32_t> ranks = {3, 3, 3})
      : job(std::move(ranks), std::move(settings)) {
    job.clock = steady;
    job.wrap_node = [this](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      if (node != 1) return store;
      return std::make_shared<HookedStore>(store, [this](const HookedStore::Operation& operation) -> Status {
        const bool creates = operation.kind == HookedStore::Operation::Kind::create;
        if (creates && operation.path.ends_with(".shard") && (fails || failures.fetch_sub(1) > 0))
          return fail(Code::io, operation.path + ": Input/output error");
        return {};
      });
    };
  }
  // Takes snapshots until the heads have found something, or for so many times.
  void run(int most) {
    job.run_and_die([&](JobSession& session) {
      Steps steps(session);
      steps.restore();
      fails = true;
      advance_until([&] { return health_of(job).has_value(); }, most, session, steps);
    });
  }
  Job job;
  std::atomic<bool> fails{false};
  std::atomic<int> failures{0};  // so many more
};

TEST(FaultDesk, names_the_node_whose_store_fails) {
  FailingJob failing(kSettings);
  failing.run(1000);
  const auto health = health_of(failing.job);
  ASSERT_TRUE(health);
  ASSERT_EQ(health->entries.size(), 1U);
  const HealthEntry& entry = health->entries.front();
  EXPECT_EQ(entry.verdict.fault, Fault::store_failing);
  EXPECT_EQ(entry.verdict.suspect.node, NodeId{1});
  EXPECT_EQ(entry.verdict.analyst, NodeId{0});
  EXPECT_FALSE(entry.verdict.evidence.empty());
  EXPECT_FALSE(entry.verdict.findings.empty());
  EXPECT_THAT(entry.text, testing::HasSubstr("; last error: \""));
  EXPECT_THAT(entry.text, testing::HasSubstr("Input/output error\"; if the node is lost, no snapshot is left ("));
}

TEST(FaultDesk, tells_what_is_restored_if_the_node_is_lost) {
  FailingJob failing("[levels]\nl1 = every 1\nl2 = every 2\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n");
  failing.job.run_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    for (int i = 0; i < 3; ++i) steps.advance();
    session.wait(LevelId::partner);
    failing.fails = true;
    advance_until([&] { return health_of(failing.job).has_value(); }, 1000, session, steps);
  });
  const auto health = health_of(failing.job);
  ASSERT_TRUE(health);
  ASSERT_EQ(health->entries.size(), 1U);
  EXPECT_THAT(health->entries.front().text,
              testing::ContainsRegex("; if the node is lost, version 2 .L2, ..:... is restored ."));
}

// Symptoms that repeat themselves count at most a few times.
TEST(FaultDesk, analyses_nothing_below_the_threshold_of_the_configuration) {
  FailingJob failing(std::string(kSettings) + "[localize]\nthreshold = 1000\n");
  failing.run(100);
  EXPECT_FALSE(health_of(failing.job));
}

TEST(FaultDesk, reports_nothing_where_it_is_off) {
  FailingJob failing(std::string(kSettings) + "[localize]\nmode = off\n");
  failing.run(50);
  EXPECT_FALSE(health_of(failing.job));
}

std::optional<WatchFile> watch_of(Job& job) {
  const auto text = read_text(job.global_store(), names::watch());
  if (!text) return {};
  const auto watch = parse_watch_file(*text);
  EXPECT_TRUE(watch) << watch.error().text();
  return watch ? std::optional(*watch) : std::nullopt;
}

// Its absence after a run that has ended well means that nobody looks any more.
TEST(FaultDesk, notes_that_heads_look_until_the_run_has_ended_well) {
  Job job({3, 3, 3}, kSettings);
  job.clock = steady;
  job.run_and_die([&](JobSession& session) {
    Steps steps(session);
    steps.restore();
    advance_until([&] { return watch_of(job).has_value(); }, 1000, session, steps);
  });
  const auto watch = watch_of(job);
  ASSERT_TRUE(watch);
  EXPECT_EQ(watch->life, Incarnation{1});
  EXPECT_EQ(watch->ranks, 6U);
  EXPECT_EQ(watch->heads, 3U);
  EXPECT_EQ(watch->watching, 3U);
  job.run([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    for (int i = 0; i < 5; ++i) steps.advance();
  });
  EXPECT_FALSE(watch_of(job));
}

TEST(FaultDesk, says_nothing_of_a_watch_where_it_is_off) {
  Job job({3, 3, 3}, std::string(kSettings) + "[localize]\nmode = off\n");
  job.clock = steady;
  job.run_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    for (int i = 0; i < 5; ++i) steps.advance();
  });
  EXPECT_FALSE(watch_of(job));
}

TEST(FaultDesk, reports_nothing_about_healthy_stores) {
  Job job({3, 3, 3}, kSettings);
  job.clock = steady;
  job.run_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    for (int i = 0; i < 50; ++i) steps.advance();
  });
  EXPECT_FALSE(health_of(job));
}

// What the application, or somebody outside, reports of node 1 or of a rank there.
class Suspicions : public testing::Test {
 protected:
  // Until heads have found something, or for long.
  void run(const std::function<void(JobSession&)>& report) {
    job.clock = steady;
    job.run_and_die([&](JobSession& session) {
      Steps steps(session);
      steps.restore();
      report(session);
      advance_until([&] { return health_of(job).has_value(); }, 1000, session, steps);
    });
  }
  Job job{{3, 3, 3}, kSettings};
};

TEST_F(Suspicions, of_the_application_are_examined_and_shown_in_its_words) {
  run([](JobSession& session) {
    if (session.rank() == 3) session.suspect("the residual\ngrows");
  });
  const auto health = health_of(job);
  ASSERT_TRUE(health);
  const HealthEntry& entry = health->entries.at(0);
  EXPECT_EQ(entry.verdict.fault, Fault::undetermined);
  EXPECT_EQ(entry.verdict.suspect, (Suspect{NodeId{1}, Rank{3}}));
  EXPECT_EQ(entry.verdict.evidence.at(0).kind, SymptomKind::suspected);
  EXPECT_EQ(entry.verdict.evidence.at(0).note, "the residual grows");
  EXPECT_FALSE(entry.verdict.findings.empty());
}

TEST_F(Suspicions, of_an_operator_are_taken_from_the_global_store_and_removed) {
  const auto today =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const SuspicionFile file{static_cast<std::uint64_t>(today), NodeId{1}, "its fan is loud"};
  ASSERT_TRUE(write_text(job.global_store(), names::suspicion(1), to_json(file)));
  run([](JobSession& /*session*/) {});
  const auto health = health_of(job);
  ASSERT_TRUE(health);
  EXPECT_EQ(health->entries.at(0).verdict.suspect, (Suspect{NodeId{1}, std::nullopt}));
  EXPECT_EQ(health->entries.at(0).verdict.evidence.at(0).note, "its fan is loud");
  EXPECT_FALSE(read_text(job.global_store(), names::suspicion(1)));
}

TEST_F(Suspicions, without_words_are_refused) {
  job.run_and_die([](JobSession& session) { session.suspect(""); });
  ASSERT_TRUE(job.cause());
  EXPECT_EQ(job.cause()->kind, ErrorKind::usage);
}

// One symptom is too little for a verdict. With one of before, it is not.
class SymptomsOfBefore : public testing::Test {
 protected:
  // The store of node 1 fails once, and the job dies. Its heads have looked around by then: with each look at the clock
  // time passes, and they look at it for every snapshot.
  void fail_once() {
    failing.job.clock = [this](std::uint32_t /*world_rank*/) {
      return std::chrono::milliseconds(looks_at_the_clock.fetch_add(5));
    };
    failing.job.run_and_die([&](JobSession& session) {
      Steps steps(session);
      steps.restore();
      if (session.rank() == 1) failing.failures = 1;
      steps.advance_by(100);
      steps.wait_for_all();
    });
    failing.failures = 0;
    failing.job.clock = steady;
  }
  // The job goes on until this is so, or for long.
  template <class Condition>
  void run_until(Condition condition, int most = 1000) {
    failing.job.run_and_die([&](JobSession& session) {
      Steps steps(session);
      steps.restore();
      advance_until(condition, most, session, steps);
    });
  }
  // Where the symptom lies: with the node that saw it, or with the one that analyses it.
  [[nodiscard]] std::optional<std::uint32_t> keeper() {
    for (std::uint32_t node = 0; node < 3; ++node)
      if (read_text(failing.job.node_store(node), names::symptoms())) return node;
    return std::nullopt;
  }

  std::atomic<std::int64_t> looks_at_the_clock{0};
  FailingJob failing{std::string(kSettings) + "[job]\non_storage_error = continue\n[localize]\nsilent_after = off\n",
                     {2, 2, 2}};  // with their heads
};

TEST_F(SymptomsOfBefore, count_after_the_job_has_died) {
  fail_once();
  EXPECT_FALSE(health_of(failing.job));
  ASSERT_TRUE(keeper());
  const auto file = parse_symptom_file(*read_text(failing.job.node_store(*keeper()), names::symptoms()));
  ASSERT_TRUE(file) << file.error().text();
  ASSERT_EQ(file->symptoms.size(), 1U);
  EXPECT_EQ(file->symptoms[0].seen.kind, SymptomKind::store_error);
  failing.failures = 1;
  run_until([&] { return health_of(failing.job).has_value(); });
  const auto health = health_of(failing.job);
  ASSERT_TRUE(health);
  const localize::Verdict& verdict = health->entries.at(0).verdict;
  EXPECT_EQ(verdict.suspect.node, NodeId{1});
  EXPECT_EQ(verdict.evidence.at(0).count, 2U);
}

// Node 0 analyses node 1.
TEST_F(SymptomsOfBefore, move_to_the_store_of_the_analyst) {
  fail_once();
  ASSERT_TRUE(keeper());
  const auto kept_in = [&](std::uint32_t node) {
    return read_text(failing.job.node_store(node), names::symptoms()).has_value();
  };
  std::atomic<bool> moved = false;
  run_until([&] {
    if (kept_in(0) && !kept_in(1) && !kept_in(2)) moved = true;
    return moved.load();
  });
  EXPECT_TRUE(moved);
}

// MPI may end it with all its heads.
TEST_F(SymptomsOfBefore, are_kept_while_the_job_runs) {
  std::atomic<bool> kept = false;
  failing.failures = 1;
  run_until([&] {
    if (keeper()) kept = true;
    return kept.load();
  });
  EXPECT_TRUE(kept);
}

TEST_F(SymptomsOfBefore, are_removed_when_the_job_has_finished) {
  fail_once();
  ASSERT_TRUE(keeper());
  failing.job.run([&](JobSession& session) { Steps(session).restore(); });
  EXPECT_FALSE(keeper());
}

TEST_F(SymptomsOfBefore, do_not_count_if_their_file_is_damaged) {
  fail_once();
  ASSERT_TRUE(failing.job.node_store(keeper().value()).corrupt(names::symptoms(), 20));
  failing.failures = 1;
  std::atomic<bool> removed = false;
  run_until([&] {
    if (!keeper()) removed = true;
    return removed.load();
  });
  EXPECT_TRUE(removed);
  EXPECT_FALSE(health_of(failing.job));
}

// What MPI reports when a process dies, as a life ends.
class DeadProcesses : public testing::Test {
 protected:
  // These world ranks are dead, and the job dies of it.
  void die(std::vector<Peer> dead) {
    job.clock = steady;
    job.message_faults = std::make_shared<CommFaultPlan>();
    job.message_faults->dead = std::move(dead);
    job.run_and_die([](JobSession& session) { Steps(session).restore(); });
  }
  [[nodiscard]] std::optional<SymptomFile> kept_in(std::uint32_t node) {
    const auto text = read_text(job.node_store(node), names::symptoms());
    if (!text) return {};
    const auto file = parse_symptom_file(*text);
    EXPECT_TRUE(file) << file.error().text();
    return file ? std::optional(*file) : std::nullopt;
  }
  Job job{{3, 3, 3}, kSettings};
};

TEST_F(DeadProcesses, are_kept_as_symptoms_about_their_node) {
  die({Peer{3}, Peer{5}});
  for (const std::uint32_t node : {0U, 2U}) {
    const auto file = kept_in(node);
    ASSERT_TRUE(file) << node;
    ASSERT_EQ(file->symptoms.size(), 1U);
    const localize::Observation& seen = file->symptoms[0].seen;
    EXPECT_EQ(seen.kind, SymptomKind::process_failed);
    EXPECT_EQ(seen.reporter, NodeId{node});
    EXPECT_EQ(seen.worst, 2) << "processes";
    EXPECT_EQ(file->symptoms[0].host, kept_in(0)->symptoms[0].host);
  }
}

TEST_F(DeadProcesses, that_nobody_names_accuse_no_node) {
  die({});
  for (std::uint32_t node = 0; node < 3; ++node) EXPECT_FALSE(kept_in(node));
}

}  // namespace
}  // namespace cairn::test
