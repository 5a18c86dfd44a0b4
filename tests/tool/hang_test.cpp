// Runs ckpt-tool hang on the files that a job's ranks keep, and on this process as one of the ranks.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "hang_process.hpp"
#include "run_tool.hpp"
#include "sample_job.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/sample_calls.hpp"
#include "support/temp_directory.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string this_host() {
  std::array<char, 64> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

class CkptToolHang : public testing::Test {
 protected:
  // As the store of a node below `place`.
  void write(const SampleCalls& job, const std::string& place = "local") const {
    auto store = PosixStore::open(root.path() + "/" + place, "heat");
    ASSERT_TRUE(store) << store.error().text();
    job.write(**store);
  }
  std::string file(std::uint32_t rank, const std::string& place = "local") const {
    return root.path() + "/" + place + "/heat/calls/rank00000" + std::to_string(rank) + ".calls";
  }
  Outcome run(const std::string& more = "") const { return run_tool("hang --local " + root.path() + "/local" + more); }
  // What it says to scripts.
  json ask(const std::string& more = "") const {
    const Outcome outcome = run(" --json" + more);
    EXPECT_FALSE(outcome.out.empty()) << outcome.err;
    return outcome.out.empty() ? json{} : json::parse(outcome.out);
  }

  TempDirectory root{"/tmp"};
};

// A process that sleeps, and ends with the test.
class Child {
 public:
  Child() : process_(::fork()) {
    if (process_ != 0) return;
    ::pause();
    ::_exit(0);
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[nodiscard]] pid_t process() const { return process_; }
  void signal(int number) const { ::kill(process_, number); }
  void end() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  pid_t process_;
};

// All ranks are in a collective but rank 3, which has this process.
SampleCalls job_with(const Child& child) {
  SampleCalls job(4, this_host());
  job.all_last(collective("MPI_Allreduce"), {3});
  for (std::uint32_t rank = 0; rank < 3; ++rank) job.of(rank).process = ::getpid();
  job.of(3).process = child.process();
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    // These processes have just started, and a file is younger than its process.
    job.of(rank).opened = job.now();
  }
  return job;
}

TEST_F(CkptToolHang, gives_the_facts_to_scripts) {
  SampleCalls job(4);
  job.all_last(collective("MPI_Reduce", 0), {3});
  job.lasts(3, receive(0, 12));
  write(job);
  const Outcome outcome = run(" --json");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  const json shown = json::parse(outcome.out);
  EXPECT_EQ(shown["job"], "heat");
  EXPECT_EQ(shown["verdict"], "hangs");
  const json& finding = shown["findings"][0];
  EXPECT_EQ(finding["cause"], "circle");
  EXPECT_EQ(finding["certainty"], "certain");
  EXPECT_EQ(finding["ranks"], json({0, 3}));
  EXPECT_EQ(finding["waiting"], json({0, 1, 2, 3}));
  EXPECT_NEAR(finding["waited_seconds"], kLong, 20);
  EXPECT_EQ(finding["circle"][1]["rank"], 3);
  const json& wait = shown["waits"][std::size_t{finding["circle"][1]["wait"]}];
  EXPECT_EQ(wait["reason"], "message_not_sent");
  EXPECT_EQ(wait["certainty"], "certain");
  EXPECT_EQ(wait["call"]["tag"], 12);
  const json& rank = shown["ranks"][3];
  EXPECT_EQ(rank["state"], "in_call");
  EXPECT_EQ(rank["calls"][0]["call"], "MPI_Recv");
  EXPECT_EQ(rank["calls"][0]["peer"], 0);
  EXPECT_EQ(rank["calls"][0]["tag"], 12);
  EXPECT_EQ(rank["calls"][0]["bytes"], 4096);
  EXPECT_NEAR(rank["seconds"], kLong, 20);
  EXPECT_EQ(shown["waits"][std::size_t{rank["waits"][0]}]["for"], json::array({0}));
  EXPECT_EQ(shown["ranks"][0]["calls"][0]["root"], 0);
  EXPECT_EQ(shown["ranks"][0]["calls"][0]["number"], 812);
}

TEST_F(CkptToolHang, names_the_table_that_was_full) {
  SampleCalls job(4);
  job.stops_counting(1);
  job.all_last(collective("MPI_Barrier"), {0, 1});
  job.lasts(0, receive(1, 12));
  job.lasts(1, receive(0, 12));
  write(job);
  const json shown = ask();
  EXPECT_EQ(shown["verdict"], "waits");
  EXPECT_EQ(shown["findings"][0]["certainty"], "unknown");
  EXPECT_EQ(shown["unknown"], json({{{"rank", 1}, {"cause", "message_counters_full"}, {"entries", 1024}}}));
  EXPECT_EQ(shown["waits"][std::size_t{shown["ranks"][0]["waits"][0]}]["certainty"], "unknown");
  EXPECT_EQ(shown["waits"][std::size_t{shown["ranks"][2]["waits"][0]}]["certainty"], "certain");
}

TEST_F(CkptToolHang, calls_a_job_that_computes_healthy) {
  write(SampleCalls(4));
  EXPECT_EQ(run().code, 0);
  const json shown = ask();
  EXPECT_EQ(shown["verdict"], "healthy");
  EXPECT_EQ(shown["findings"], json::array());
  for (const json& rank : shown["ranks"]) EXPECT_EQ(rank["state"], "computes");
}

TEST_F(CkptToolHang, waits_as_long_as_it_is_told_before_it_calls_that_a_hang) {
  SampleCalls job(4);
  job.all_last(receive(3, 1), {3});
  job.lasts(3, receive(0, 1));
  write(job);
  EXPECT_EQ(run().code, 1);
  EXPECT_EQ(run(" --after 10min").code, 0);
  EXPECT_EQ(run(" --after soon").code, 2);
}

// As a healthy program does that writes a file, or has a large part of the domain. The heads take their time from the
// same key.
TEST_F(CkptToolHang, does_not_suspect_a_rank_that_computes_before_the_configuration_does) {
  SampleCalls job(4);
  job.all_last(collective("MPI_Allreduce"), {3});
  write(job);
  EXPECT_EQ(run().code, 0);
  const json shown = ask();
  EXPECT_EQ(shown["verdict"], "waits");
  EXPECT_EQ(shown["findings"][0]["ranks"], json({3}));
  EXPECT_EQ(run(" --after 10min").code, 0);
  EXPECT_EQ(ask(" --after 10min")["verdict"], "healthy");
  const std::string config = root.path() + "/heat.ini";
  std::ofstream(config) << "[job]\nname = heat\n[localize]\nstuck_after = 30s\n";
  EXPECT_EQ(run(" --config " + config).code, 1);
  EXPECT_EQ(ask(" --config " + config)["verdict"], "suspect");
  std::ofstream(config) << "[job]\nname = heat\n[localize]\nstuck_after = off\n";
  EXPECT_EQ(ask(" --config " + config)["verdict"], "waits");
}

TEST_F(CkptToolHang, sees_a_process_of_this_host_that_is_stopped_or_dead) {
  Child child;
  write(job_with(child));
  EXPECT_EQ(ask()["findings"][0]["cause"], "idles");
  child.signal(SIGSTOP);
  EXPECT_EQ(run().code, 1);
  const json stopped = ask()["findings"][0];
  EXPECT_EQ(stopped["cause"], "stopped");
  EXPECT_EQ(stopped["ranks"], json({3}));
  EXPECT_EQ(stopped["waiting"], json({0, 1, 2}));
  child.end();
  EXPECT_EQ(run().code, 1);
  EXPECT_EQ(ask()["findings"][0]["cause"], "dead");
}

// On a host with more ranks than processors.
TEST(ProcessFactsOnThisHost, say_of_no_process_that_is_ready_to_run_that_it_does_not_compute) {
  using ckpt_tool::facts_of;
  const auto looked = [](char state, std::uint64_t ticks) { return ckpt_tool::ProcessSample{state, ticks, 100}; };
  EXPECT_EQ(facts_of(looked('R', 7), looked('R', 7), 0, 0).used_processor, std::nullopt);
  EXPECT_EQ(facts_of(looked('R', 7), looked('R', 9), 0, 0).used_processor, true);
  EXPECT_EQ(facts_of(looked('S', 7), looked('S', 9), 0, 0).used_processor, true);
  EXPECT_EQ(facts_of(looked('S', 7), looked('S', 8), 0, 0).used_processor, false);
}

TEST_F(CkptToolHang, takes_no_younger_process_with_the_same_number_for_the_rank) {
  const Child child;
  SampleCalls job = job_with(child);
  job.of(3).opened -= 1'000'000'000'000;
  write(job);
  EXPECT_EQ(ask()["findings"][0]["cause"], "dead");
}

TEST_F(CkptToolHang, says_that_a_job_is_over_when_all_its_processes_are_gone) {
  Child child;
  SampleCalls job = job_with(child);
  for (std::uint32_t rank = 0; rank < 4; ++rank) job.of(rank).process = child.process();
  write(job);
  child.end();
  for (const char* more : {"", " --watch 1"}) EXPECT_EQ(run(more).code, 2);
  const json shown = ask();
  EXPECT_EQ(shown["verdict"], "over");
  EXPECT_EQ(shown["waits"][std::size_t{shown["findings"][0]["wait"]}]["reason"], "collective_not_begun");
}

TEST_F(CkptToolHang, looks_again_until_the_job_is_gone) {
  SampleCalls job(4);
  job.all_last(receive(3, 1), {3});
  job.lasts(3, receive(0, 1));
  write(job);
  const pid_t remover = ::fork();
  if (remover == 0) {
    ::usleep(1'500'000);
    std::error_code ignored;
    fs::remove_all(root.path() + "/local/heat/calls", ignored);
    ::_exit(0);
  }
  const Outcome outcome = run(" --watch 0.2 --json");
  ::waitpid(remover, nullptr, 0);
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_GT(std::ranges::count(outcome.out, '\n'), 1) << outcome.out;
  EXPECT_EQ(json::parse(outcome.out.substr(0, outcome.out.find('\n')))["verdict"], "hangs");
}

TEST_F(CkptToolHang, says_which_ranks_it_has_not_seen_and_takes_their_stores_too) {
  SampleCalls here(4);
  here.all_last(collective("MPI_Barrier"), {3});
  SampleCalls there = SampleCalls(4);
  for (const std::uint32_t rank : {2U, 3U}) here.lose(rank);
  there.all_last(collective("MPI_Barrier"), {3});
  for (const std::uint32_t rank : {0U, 1U}) there.lose(rank);
  write(here);
  write(there, "from-node1");
  EXPECT_EQ(run().code, 0);
  const json half = ask();
  EXPECT_EQ(half["verdict"], "waits");
  EXPECT_EQ(half["findings"][0]["cause"], "unseen");
  EXPECT_EQ(half["findings"][0]["ranks"], json({2, 3}));
  EXPECT_EQ(half["unseen"], json({2, 3}));
  const json whole = ask(" --local " + root.path() + "/from-node1");
  EXPECT_EQ(whole["findings"][0]["cause"], "computes");
  EXPECT_EQ(whole["findings"][0]["waiting"], json({0, 1, 2}));
  EXPECT_EQ(whole["unseen"], json::array());
}

TEST_F(CkptToolHang, names_a_file_that_is_damaged_or_newer_and_goes_on_with_the_others) {
  write(SampleCalls(4));
  flip_byte(file(2), 0);
  const Outcome damaged = run();
  EXPECT_EQ(damaged.code, 2);
  EXPECT_THAT(damaged.err, Names({"calls/rank000002.calls"}));
  EXPECT_EQ(ask()["unseen"], json({2}));
  flip_byte(file(2), 0);
  const auto set_format = [&](std::uint32_t rank, char format) {
    std::fstream out(file(rank), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(offsetof(CallFile, format));
    out.put(format);
  };
  for (std::uint32_t rank = 0; rank < 4; ++rank) set_format(rank, 9);
  const Outcome newer = run();
  EXPECT_EQ(newer.code, 2);
  EXPECT_THAT(newer.err, Names({"calls/rank000003.calls", "9", std::to_string(kCallFileFormat)}));
}

TEST_F(CkptToolHang, says_in_one_line_that_nothing_is_there) {
  fs::create_directories(root.path() + "/local");
  const Outcome nothing = run(" --job heat");  // as of a job that has just been started
  EXPECT_EQ(nothing.code, 2);
  EXPECT_THAT(nothing.err, Names({"heat", root.path() + "/local"}));
  fs::create_directories(root.path() + "/local/heat/calls");
  const Outcome outcome = run();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, Names({"heat", root.path() + "/local"}));
  EXPECT_EQ(run_tool("hang").code, 2);
  EXPECT_EQ(run_tool("hang --local /nowhere").code, 2);
  EXPECT_THAT(run_tool("hang --help").out, Names({"--after"}));
}

TEST_F(CkptToolHang, is_short_about_thousands_of_ranks) {
  SampleCalls job(2000);
  for (std::uint32_t rank = 0; rank < 1999; ++rank) job.lasts(rank, receive(static_cast<std::int32_t>(rank) + 1, 1));
  job.lasts(1999, receive(0, 1));
  write(job);
  const Outcome outcome = run();
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_LT(outcome.out.size(), 4000U) << outcome.out;
}

}  // namespace
}  // namespace cairn::test
