#include "base/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "support/temp_directory.hpp"

namespace cairn {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string read_whole(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {(std::istreambuf_iterator<char>(in)), {}};
}

struct TraceTest : testing::Test {
  const test::TempDirectory directory{"/tmp"};
  const std::string path = directory.path() + "/t.json";
  const std::string file = directory.path() + "/t.i0002.rank000003.json";

  [[nodiscard]] Trace open() const {
    Trace trace(path, TraceProcess::of_rank(Rank{3}, "host \"a\"\n\xff"), Log::silent());
    trace.begin(Incarnation{2});
    return trace;
  }
  // Those of one name.
  [[nodiscard]] std::vector<json> events(const std::string& name) const {
    std::vector<json> found;
    for (const json& event : json::parse(read_whole(file))) {
      if (event["name"] == name) found.push_back(event);
    }
    return found;
  }
};

TEST_F(TraceTest, writes_the_values_of_a_counter_in_their_order) {
  {
    const Trace trace = open();
    ASSERT_TRUE(trace.is_on());
    trace.count("level", 0.25);
    trace.count("level", 1e-7);
  }
  const auto found = events("level");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0]["ph"], "C");
  EXPECT_EQ(found[0]["args"]["value"], 0.25);
  EXPECT_EQ(found[1]["args"]["value"], 1e-7);
  EXPECT_LE(found[0]["ts"], found[1]["ts"]);
  EXPECT_FALSE(found[0].contains("dur"));
}

TEST_F(TraceTest, writes_every_span_with_its_time_version_and_bytes) {
  {
    const Trace trace = open();
    trace.name_thread("application");
    const auto outer = trace.span("snapshot", 7);
    auto inner = trace.span("write", 7);
    inner.set_bytes(1000);
  }
  const json inner = events("write").at(0);
  const json outer = events("snapshot").at(0);
  EXPECT_EQ(inner["ph"], "X");
  EXPECT_EQ(inner["args"], (json{{"version", 7}, {"bytes", 1000}}));
  EXPECT_EQ(outer["args"], (json{{"version", 7}}));
  EXPECT_EQ(inner["tid"], outer["tid"]);
  EXPECT_LE(outer["ts"], inner["ts"]);
  EXPECT_GE(outer["ts"].get<double>() + outer["dur"].get<double>(),
            inner["ts"].get<double>() + inner["dur"].get<double>());
  EXPECT_EQ(events("thread_name").at(0)["args"]["name"], "application");
  EXPECT_EQ(events("thread_name").at(0)["tid"], inner["tid"]);
}

TEST_F(TraceTest, begins_with_who_wrote_it_and_in_which_life_of_the_job) {
  (void)open();
  const json first = json::parse(read_whole(file))[0];
  EXPECT_EQ(first["name"], "cairn_trace");
  EXPECT_EQ(first["args"]["process"], "rank 3");
  EXPECT_EQ(first["args"]["incarnation"], 2);
  EXPECT_THAT(first["args"]["host"].get<std::string>(), HasSubstr("host \"a\"\n"));
  EXPECT_EQ(events("process_name").at(0)["args"]["name"], "rank 3");
  EXPECT_EQ(events("incarnation 2").size(), 1U);
}

TEST_F(TraceTest, keeps_what_came_before_the_life_was_known_and_writes_nothing_when_it_never_is) {
  {
    const Trace trace(path, TraceProcess::of_rank(Rank{3}, "a"), Log::silent());
    trace.span("open").end();
    EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
    trace.begin(Incarnation{2});
    trace.begin(Incarnation{9});
  }
  EXPECT_EQ(events("open").size(), 1U);
  std::filesystem::remove(file);
  Trace(path, TraceProcess::of_head(NodeId{1}, "a"), Log::silent()).span("open").end();
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST_F(TraceTest, gives_both_ends_of_what_ran_beside_other_work_one_id) {
  {
    const Trace trace = open();
    auto first = trace.span_beside("vote", 1);
    auto second = trace.span_beside("vote", 2);
    first.end();
  }
  const auto votes = events("vote");
  ASSERT_EQ(votes.size(), 4U);
  std::map<std::string, std::set<std::string>> phases;
  for (const json& event : votes) phases[event["id2"]["local"]].insert(event["ph"]);
  EXPECT_EQ(phases.size(), 2U);
  for (const auto& [id, ends] : phases) EXPECT_EQ(ends, (std::set<std::string>{"b", "e"})) << id;
}

TEST_F(TraceTest, records_a_span_once_however_it_is_moved_and_not_at_all_when_dropped) {
  {
    const Trace trace = open();
    auto a = trace.span("moved");
    auto b = std::move(a);
    b = trace.span("assigned over");
    b.end();
    b.end();
    trace.span("dropped").drop();
  }
  EXPECT_EQ(events("moved").size(), 1U);
  EXPECT_EQ(events("assigned over").size(), 1U);
  EXPECT_TRUE(events("dropped").empty());
}

TEST_F(TraceTest, loses_no_event_of_many_threads) {
  constexpr int kThreads = 4;
  constexpr int kEach = 5000;  // more than are kept in memory
  {
    const Trace trace = open();
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([trace] {
        for (int i = 0; i < kEach; ++i) trace.span("work").end();
      });
    }
    for (auto& thread : threads) thread.join();
  }
  std::map<std::uint64_t, int> of_thread;
  for (const json& event : events("work")) ++of_thread[event["tid"]];
  EXPECT_EQ(of_thread.size(), 4U);
  for (const auto& [tid, count] : of_thread) EXPECT_EQ(count, kEach) << tid;
}

TEST_F(TraceTest, has_all_of_what_was_flushed_though_the_process_lives_on) {
  const Trace trace = open();
  trace.span("work").end();
  trace.flush();
  const std::string text = read_whole(file);
  EXPECT_THAT(text, HasSubstr("\"work\""));
  EXPECT_FALSE(json::accept(text));
  EXPECT_TRUE(json::accept(text + "]"));
}

TEST_F(TraceTest, warns_once_of_a_file_that_cannot_be_written) {
  testing::internal::CaptureStderr();
  {
    const Trace trace(directory.path() + "/none/t.json", TraceProcess::of_head(NodeId{1}, "a"), Log(LogLevel::info));
    trace.begin(Incarnation{1});
    for (int i = 0; i < 10000; ++i) trace.span("work").end();
    trace.flush();
  }
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "cairn: warning: " + directory.path() +
          "/none/t.i0001.node0001.json: cannot be written: No such file or directory; the trace of head of node 1 "
          "ends here\n");
}

TEST(Trace, does_nothing_when_it_is_off) {
  for (const Trace& trace : {Trace(), Trace("", TraceProcess::of_rank(Rank{0}, "a"), Log(LogLevel::info))}) {
    trace.begin(Incarnation{1});
    auto span = trace.span("work");
    span.set_bytes(1);
    trace.flush();
  }
}

TEST(Trace, names_files_by_life_and_process) {
  EXPECT_EQ(trace_file("heat.json", Incarnation{12}, "node0003"), "heat.i0012.node0003.json");
  EXPECT_EQ(trace_file("traces/heat", Incarnation{1}, "rank000007"), "traces/heat.i0001.rank000007.json");
}

}  // namespace
}  // namespace cairn
