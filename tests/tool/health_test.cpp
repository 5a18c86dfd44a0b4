// ckpt-tool health: what it says of a job that is sick, and of a file of rules.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "format/health_file.hpp"
#include "format/suspicion_file.hpp"
#include "format/watch_file.hpp"
#include "localize/facts.hpp"
#include "localize/words.hpp"
#include "run_tool.hpp"
#include "store/names.hpp"
#include "support/temp_directory.hpp"

namespace cairn::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string rules_file(const TempDirectory& directory, const std::string& text) {
  std::string file = directory.path() + "/sick.rules";
  std::ofstream(file) << text;
  return file;
}

TEST(Health, prints_default_rules_that_pass_its_own_check) {
  const Outcome rules = run_tool("health --default-rules");
  EXPECT_EQ(rules.code, 0);
  const TempDirectory directory("/tmp");
  const Outcome checked = run_tool("health --check-rules " + rules_file(directory, rules.out));
  EXPECT_EQ(checked.code, 0);
  EXPECT_THAT(checked.out, HasSubstr("sick.rules: "));
  EXPECT_THAT(checked.out, HasSubstr("rules are in order"));
  EXPECT_THAT(checked.err, IsEmpty());
}

TEST(Health, names_file_line_and_what_would_be_right_for_every_mistake) {
  const TempDirectory directory("/tmp");
  const std::string file =
      rules_file(directory, "rule a\nif no_respons\nthen suspect node_down\nwhy it is off\nweight x 1\n");
  const Outcome checked = run_tool("health --check-rules " + file);
  EXPECT_EQ(checked.code, 1);
  EXPECT_THAT(checked.out, IsEmpty());
  EXPECT_THAT(checked.err, HasSubstr(file + ":2: unknown fact 'no_respons' (did you mean no_response?)\n"));
  EXPECT_THAT(checked.err, HasSubstr(file + ":5: unknown symptom 'x' (symptoms are heartbeat_missed, "));
}

// A running job takes such a file: it does no harm.
TEST(Health, finds_rules_that_can_never_hold) {
  const TempDirectory directory("/tmp");
  const std::string file =
      rules_file(directory, "rule a\nif store_error >= 3 and store_error < 2\nthen suspect store_failing\nwhy x\n");
  const Outcome checked = run_tool("health --check-rules " + file);
  EXPECT_EQ(checked.code, 1);
  EXPECT_THAT(checked.err, HasSubstr(file + ":1: rule 'a' can never hold ("));
}

TEST(Health, says_which_file_cannot_be_read_and_what_to_write) {
  const TempDirectory directory("/tmp");
  for (const std::string& file : {directory.path() + "/none", directory.path()}) {
    const Outcome checked = run_tool("health --check-rules " + file);
    EXPECT_EQ(checked.code, 2);
    EXPECT_THAT(checked.err, HasSubstr(file + ": cannot be read: "));
  }
  const Outcome both = run_tool("health --default-rules --check-rules x");
  EXPECT_EQ(both.code, 2);
}

constexpr std::uint64_t kNeverYet = 99'999'999'999;  // a day in the year 5138

// The global store of a job in which the store of node 1 fails.
struct SickJob {
  SickJob() {
    std::filesystem::create_directories(directory.path() + "/global/heat");
    localize::Verdict verdict;
    verdict.fault = localize::Fault::store_failing;
    verdict.suspect.node = NodeId{1};
    verdict.evidence = {{SymptomKind::store_error, verdict.suspect, NodeId{1}, {}, {}, {}, 3, 0.5}};
    verdict.findings = {{localize::fact_of(localize::ProbeFact::state_store_errors), 0.5}};
    entry = {verdict, "c17", 1700000000, verdict_text(verdict, {{"c16", "c17"}, {}}), {2}, kNeverYet};
    write();
  }
  void write() const {
    std::ofstream(directory.path() + "/global/heat/health.json") << to_json(HealthFile{{2}, {entry}});
  }
  [[nodiscard]] std::string target() const { return "--job heat --global " + directory.path() + "/global"; }
  TempDirectory directory{"/tmp"};
  HealthEntry entry;
};

TEST(Health, says_what_is_sick_and_with_which_evidence) {
  const SickJob job;
  const Outcome shown = run_tool("health " + job.target());
  EXPECT_EQ(shown.code, 1) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("run 2"));
  EXPECT_THAT(shown.out, HasSubstr("node 1 (host c17) is sick: its store fails"));
  EXPECT_THAT(shown.out, HasSubstr("store_error, 3 times from node 1"));
  EXPECT_THAT(shown.out, HasSubstr("state.store_errors = 0.5"));
}

TEST(Health, prints_the_same_as_json) {
  const SickJob job;
  const Outcome shown = run_tool("health --json " + job.target());
  EXPECT_EQ(shown.code, 1) << shown.err;
  const auto json = nlohmann::json::parse(shown.out);
  const auto& verdict = json.at("verdicts").at(0);
  EXPECT_EQ(verdict.at("fault"), "store_failing");
  EXPECT_EQ(verdict.at("node"), 1);
  EXPECT_EQ(verdict.at("host"), "c17");
  EXPECT_EQ(verdict.at("evidence").at(0).at("count"), 3);
  EXPECT_EQ(verdict.at("probes").at("state.store_errors"), 0.5);
}

// What a file says may be anybody's.
TEST(Health, sends_a_terminal_no_control_characters_and_json_no_bytes_that_are_not_utf8) {
  SickJob job;
  job.entry.host =
      "donn\xe9"
      "es";
  job.entry.text = "node 1 \x1b[2J is sick";
  job.write();
  EXPECT_THAT(run_tool("health " + job.target()).out, HasSubstr("node 1 \\x1b[2J is sick"));
  const auto json = nlohmann::json::parse(run_tool("health --json " + job.target()).out);
  EXPECT_EQ(json.at("verdicts").at(0).at("host"), "donn\\xe9es");
}

// What others wait for is read back from the file, and printed.
TEST(Health, shows_what_the_calls_of_a_stuck_rank_say) {
  const SickJob job;
  localize::Verdict verdict;
  verdict.fault = localize::Fault::rank_stuck;
  verdict.suspect = {NodeId{1}, Rank{3}};
  verdict.blocker = localize::Blocker{
      verdict.suspect, localize::Blocker::Doing::idles, 72, "MPI_Bcast", "MPI_Alltoall", 27, 70, false, 4, {NodeId{6}}};
  const HealthFile health{{2}, {{verdict, "c17", 1700000000, "as it is", {2}, kNeverYet}}};
  const auto read = parse_health_file(to_json(health));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, health);
  std::ofstream(job.directory.path() + "/global/heat/health.json") << to_json(health);
  const auto calls =
      nlohmann::json::parse(run_tool("health --json " + job.target()).out).at("verdicts").at(0).at("calls");
  EXPECT_EQ(calls.at("state"), "idles");
  EXPECT_EQ(calls.at("awaited"), "MPI_Alltoall");
  EXPECT_EQ(calls.at("silent"), nlohmann::json({6}));
}

TEST(Health, shows_which_ranks_wait_for_each_other) {
  const SickJob job;
  localize::Verdict verdict;
  verdict.fault = localize::Fault::deadlock;
  verdict.suspect = {NodeId{1}, Rank{3}};
  localize::Blocker& deadlock = verdict.blocker.emplace();
  deadlock = {verdict.suspect, localize::Blocker::Doing::waits, 72, "MPI_Recv", "MPI_Recv", 5, 70};
  deadlock.ranks = {Rank{3}, Rank{7}};
  EXPECT_THAT(verdict_text(verdict), HasSubstr("the job hangs: ranks 3, 7 wait for each other; 5 ranks"));
  deadlock.likely = false;
  EXPECT_THAT(verdict_text(verdict), HasSubstr("the job may hang: "));
  const HealthFile health{{2}, {{verdict, "c17", 1700000000, "as it is", {2}, kNeverYet}}};
  const auto read = parse_health_file(to_json(health));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(*read, health);
  std::ofstream(job.directory.path() + "/global/heat/health.json") << to_json(health);
  const auto shown = nlohmann::json::parse(run_tool("health --json " + job.target()).out).at("verdicts").at(0);
  EXPECT_EQ(shown.at("fault"), "deadlock");
  EXPECT_EQ(shown.at("calls").at("ranks"), nlohmann::json({3, 7}));
}

TEST(Health, shows_which_rank_left_a_call_out) {
  localize::Verdict verdict;
  verdict.fault = localize::Fault::deadlock;
  verdict.suspect = {NodeId{1}, Rank{3}};
  verdict.blocker = {verdict.suspect, localize::Blocker::Doing::left_out, 72, "snapshot()", "snapshot()", 5, 70};
  verdict.blocker->ranks = {Rank{3}};
  EXPECT_THAT(verdict_text(verdict), HasSubstr("the job hangs: rank 3 has left snapshot() out; 5 ranks"));
}

TEST(Health, says_when_a_verdict_expires_and_not_those_that_have) {
  SickJob job;
  const auto shown = nlohmann::json::parse(run_tool("health --json " + job.target()).out).at("verdicts").at(0);
  EXPECT_EQ(shown.at("run"), 2);
  EXPECT_EQ(shown.at("expires"), kNeverYet);
  job.entry.expires = job.entry.decided + 60;
  job.write();
  const Outcome expired = run_tool("health " + job.target());
  EXPECT_EQ(expired.code, 2) << expired.err;
  EXPECT_THAT(expired.out, Not(HasSubstr("c17")));
}

std::uint64_t seconds_of_today() {
  const auto today = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(today).count());
}

// As its first head writes it.
void write_watch(const SickJob& job, const WatchFile& watch) {
  std::ofstream(job.directory.path() + "/global/heat/watch.json") << to_json(watch);
}

// Without verdicts, all depends on whether somebody looks.
TEST(Health, calls_a_job_healthy_only_if_heads_have_looked_lately) {
  const SickJob job;
  EXPECT_EQ(run_tool("health --clear " + job.target()).code, 0);
  const auto shown = [&](const std::string& more = "") {
    return nlohmann::json::parse(run_tool("health --json " + job.target() + more).out).at("watch");
  };
  EXPECT_EQ(run_tool("health " + job.target()).code, 2);
  EXPECT_THAT(run_tool("health " + job.target()).out, HasSubstr("job heat: not watched: "));
  EXPECT_EQ(shown().at("watched"), false);
  write_watch(job, {{2}, 16, 4, 3, true, seconds_of_today()});
  const Outcome watched = run_tool("health " + job.target());
  EXPECT_EQ(watched.code, 0) << watched.err;
  EXPECT_THAT(watched.out, HasSubstr("watched by 3 of 4 heads, last look "));
  EXPECT_EQ(shown().at("watched"), true);
  EXPECT_EQ(shown().at("watching"), 3);
  write_watch(job, {{2}, 16, 4, 4, true, seconds_of_today() - WatchFile::kCountsForSeconds});
  EXPECT_EQ(run_tool("health " + job.target()).code, 2);
  EXPECT_EQ(shown().at("run"), 2);
  EXPECT_EQ(shown().at("watched"), false);
}

TEST(Health, says_that_the_configuration_lets_nobody_look) {
  const SickJob job;
  EXPECT_EQ(run_tool("health --clear " + job.target()).code, 0);
  const std::string config = job.directory.path() + "/heat.ini";
  std::ofstream(config) << "[job]\nname = heat\n[localize]\nmode = off\n";
  const Outcome off = run_tool("health --config " + config + " --global " + job.directory.path() + "/global");
  EXPECT_EQ(off.code, 2) << off.err;
  EXPECT_THAT(off.out, HasSubstr("not watched: [localize] mode = off"));
}

TEST(Health, forgets_verdicts_when_asked) {
  const SickJob job;
  EXPECT_EQ(run_tool("health --clear " + job.target()).code, 0);
  const Outcome shown = run_tool("health " + job.target());
  EXPECT_EQ(shown.code, 2) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("not watched"));
}

// A head of the job takes it: see suspicion_box_test.
std::optional<SuspicionFile> reported(const SickJob& job) {
  for (const auto& entry : std::filesystem::directory_iterator(job.directory.path() + "/global/heat")) {
    if (!names::is_suspicion(entry.path().filename().string())) continue;
    std::ifstream in(entry.path());
    const auto file = parse_suspicion_file(std::string((std::istreambuf_iterator<char>(in)), {}));
    EXPECT_TRUE(file) << file.error().text();
    if (file) return *file;
  }
  return {};
}

TEST(Health, leaves_a_report_for_the_job) {
  const SickJob job;
  const Outcome outcome = run_tool("health " + job.target() + " --report host:c17 'the fan\nis loud'");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto file = reported(job);
  ASSERT_TRUE(file);
  EXPECT_EQ(std::get<std::string>(file->whom), "c17");
  EXPECT_EQ(file->text, "the fan is loud");
  EXPECT_THAT(outcome.out, HasSubstr("not watched"));
}

TEST(Health, takes_a_node_or_a_rank_by_its_number) {
  const SickJob job;
  EXPECT_EQ(run_tool("health " + job.target() + " --report rank:7 x").code, 0);
  EXPECT_EQ(std::get<Rank>(reported(job).value().whom), Rank{7});
  const SickJob other;
  EXPECT_EQ(run_tool("health " + other.target() + " --report node:3 x").code, 0);
  EXPECT_EQ(std::get<NodeId>(reported(other).value().whom), NodeId{3});
}

TEST(Health, refuses_reports_about_nothing) {
  const SickJob job;
  for (const char* const report : {"c17 x", "node: x", "node:x x", "rank:-1 x", "host: x", "node:3 ''"}) {
    EXPECT_EQ(run_tool("health " + job.target() + " --report " + std::string(report)).code, 2) << report;
  }
  EXPECT_FALSE(reported(job));
}

// A typing mistake would look like a report that was taken.
TEST(Health, refuses_reports_about_what_is_not_in_the_job_that_runs) {
  const SickJob job;
  write_watch(job, {{2}, 16, 4, 4, true, seconds_of_today()});
  for (const char* const report : {"rank:16 x", "rank:99 x", "node:4 x"})
    EXPECT_EQ(run_tool("health " + job.target() + " --report " + std::string(report)).code, 2) << report;
  EXPECT_FALSE(reported(job));
  EXPECT_THAT(run_tool("health " + job.target() + " --report rank:99 x").err, HasSubstr("job heat has ranks 0 to 15"));
  EXPECT_EQ(run_tool("health " + job.target() + " --report rank:15 x").code, 0);
  EXPECT_TRUE(reported(job));
}

TEST(Health, shows_what_runs_have_found_that_could_not_read_the_file) {
  SickJob job;
  const std::string global = job.directory.path() + "/global/heat/";
  std::filesystem::rename(global + "health.json", global + names::health_of(Incarnation{2}).path);
  EXPECT_THAT(run_tool("health " + job.target()).out, HasSubstr("c17"));
  job.write();
  std::filesystem::resize_file(global + "health.json", 1);
  const Outcome shown = run_tool("health " + job.target());
  EXPECT_EQ(shown.code, 1);
  EXPECT_THAT(shown.out, HasSubstr("c17"));
  EXPECT_THAT(shown.err, HasSubstr("health.json"));
  EXPECT_EQ(run_tool("health --clear " + job.target()).code, 0);
  EXPECT_THAT(run_tool("health " + job.target()).out, Not(HasSubstr("c17")));
}

TEST(Health, refuses_a_damaged_file) {
  const SickJob job;
  const std::string file = job.directory.path() + "/global/heat/health.json";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  const Outcome shown = run_tool("health " + job.target());
  EXPECT_EQ(shown.code, 2);
  EXPECT_THAT(shown.err, HasSubstr("health.json"));
}

}  // namespace
}  // namespace cairn::test
