// ckpt-tool trace on files as the processes of a job write them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/trace.hpp"
#include "run_tool.hpp"
#include "support/facts.hpp"
#include "support/temp_directory.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A line of the table, column by column: span, count, total, median, longest, rate. Empty: there is no such span.
std::vector<std::string> row_of(const std::string& table, const std::string& span) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(span + " ")) continue;
    std::vector<std::string> cells;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find("  ", at), line.size());
      cells.push_back(line.substr(at, end - at));
      at = std::min(line.find_first_not_of(' ', end), line.size());
    }
    return cells;
  }
  return {};
}
std::string count_of(const std::string& table, const std::string& span) {
  const auto row = row_of(table, span);
  return row.size() > 1 ? row[1] : "none";
}
bool has_rate(const std::string& table, const std::string& span) {
  const auto row = row_of(table, span);
  return row.size() > 5 && row[5].ends_with("B/s");
}

struct CkptToolTrace : testing::Test {
  const TempDirectory directory{"/tmp"};
  const std::string path = directory.path() + "/heat.json";
  const std::string all = directory.path() + "/all.json";

  // Two lives of rank 3 and one of a head.
  CkptToolTrace() {
    write(TraceProcess::of_rank(Rank{3}, "a"), 1, "snapshot");
    write(TraceProcess::of_rank(Rank{3}, "a"), 2, "snapshot");
    write(TraceProcess::of_head(NodeId{1}, "b"), 2, "hash");
  }
  void write(const TraceProcess& process, std::uint32_t incarnation, const char* name) const {
    const Trace trace(path, process, Log::silent());
    trace.begin(Incarnation{incarnation});
    trace.span(name, 5, 1U << 20U).end();
    trace.span_beside("vote", 5).end();
  }
  [[nodiscard]] std::string file(const std::string& rest) const { return directory.path() + "/heat.i" + rest; }
};

// A file has times from the start of its own process; the whole has them from the start of the first.
TEST_F(CkptToolTrace, puts_the_processes_of_all_lives_together) {
  std::ofstream(directory.path() + "/heat.ini") << "[job]\n";
  std::ofstream(file("nteresting.json")) << "{}";
  const Outcome outcome = run_tool("trace " + path + " -o " + all);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(row_of(outcome.out, "span"),
            (std::vector<std::string>{"span", "count", "total", "median", "longest", "rate"}));
  EXPECT_EQ(count_of(outcome.out, "snapshot"), "2");
  EXPECT_EQ(count_of(outcome.out, "hash"), "1");
  EXPECT_EQ(count_of(outcome.out, "vote"), "3");
  EXPECT_TRUE(has_rate(outcome.out, "snapshot") && has_rate(outcome.out, "hash")) << outcome.out;
  EXPECT_FALSE(has_rate(outcome.out, "vote")) << outcome.out;
  EXPECT_THAT(outcome.out, Names({"3", all}));
  const json events = json::parse(read_whole(all));
  std::multiset<std::string> spans;
  double first_life = 0;
  double second_life = 0;
  for (const json& event : events) {
    if (event["ph"] == "X") spans.insert(event["name"]);
    if (event["name"] == "incarnation 1") first_life = event["ts"];
    if (event["name"] == "incarnation 2" && event["pid"] == 4) second_life = event["ts"];
  }
  EXPECT_EQ(spans, (std::multiset<std::string>{"hash", "snapshot", "snapshot"}));
  EXPECT_EQ(first_life, 0);
  EXPECT_GT(second_life, first_life);
}

TEST_F(CkptToolTrace, reads_the_files_of_processes_that_died_while_writing) {
  const std::string died = file("0001.rank000003.json");
  const std::string whole = read_whole(died);
  for (const std::size_t cut : {whole.rfind("\n]"), whole.rfind("\n{") + 20}) {
    fs::resize_file(died, cut);
    const Outcome outcome = run_tool("trace " + died + " -o " + all);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(json::accept(read_whole(all)));
    EXPECT_EQ(count_of(outcome.out, "snapshot"), "1");
  }
}

TEST_F(CkptToolTrace, prints_only_the_table_when_no_output_is_named) {
  const Outcome outcome = run_tool("trace " + file("0002.node0001.json"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(count_of(outcome.out, "hash"), "1");
  EXPECT_EQ(count_of(outcome.out, "snapshot"), "none");
}

TEST_F(CkptToolTrace, refuses_files_that_are_not_of_cairn) {
  ASSERT_EQ(run_tool("trace " + path + " -o " + all).code, 0);
  const std::string odd = directory.path() + "/odd.json";
  for (const std::string text :
       {"", "[\n", "{\"a\": 1}\n", "[\n{\"name\":\"x\",\"ph\":\"M\"}\n]\n", "[\n3,\n4\n]\n",
        "[\n{\"name\":3,\"ph\":\"M\"}\n]\n", "[\n{\"name\":\"cairn_trace\",\"args\":{\"format\":\"a\"}}\n]\n"}) {
    std::ofstream(odd) << text;
    const Outcome outcome = run_tool("trace " + odd);
    EXPECT_EQ(outcome.code, 2) << text;
    EXPECT_THAT(outcome.err, Names({odd, "[log] trace"})) << text;
  }
  std::ofstream(odd) << "[\n{\"name\":\"cairn_trace\",\"args\":{\"format\":9,\"start_ns\":1}}\n]\n";
  EXPECT_THAT(run_tool("trace " + odd).err, Names({odd, "format 9", "1"}));
}

TEST_F(CkptToolTrace, puts_together_what_has_absurd_numbers) {
  const auto odd = [&](const std::string& name, const std::string& start_ns) {
    std::ofstream(directory.path() + name) << R"([
{"name":"cairn_trace","ph":"M","args":{"format":1,"start_ns":)"
                                           << start_ns << R"(}},
{"name":"odd","ph":"X","pid":1,"ts":0,"dur":1,"args":{"bytes":1e300}}
]
)";
    return directory.path() + name;
  };
  const std::string first = odd("/first.json", "-9223372036854775807");
  const std::string last = odd("/last.json", "9223372036854775807");
  const Outcome outcome = run_tool("trace " + first + " " + last + " -o " + all);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(count_of(outcome.out, "odd"), "2");
  EXPECT_EQ(row_of(outcome.out, "odd").back(), "888.2 PiB/s");
  for (const json& event : json::parse(read_whole(all))) EXPECT_GE(event.value("ts", 0.0), 0) << event;
}

TEST_F(CkptToolTrace, names_the_line_that_is_damaged) {
  const std::string damaged = file("0001.rank000003.json");
  std::string text = read_whole(damaged);
  const std::size_t at = text.find("\"snapshot\"");
  text[at] = '!';
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  std::ofstream(damaged) << text;
  const Outcome outcome = run_tool("trace " + path);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, Names({fmt::format("{}:{}", damaged, line)}));
}

TEST_F(CkptToolTrace, says_what_is_not_there_and_overwrites_no_input) {
  EXPECT_THAT(run_tool("trace " + directory.path() + "/none.json").err,
              Names({directory.path() + "/none.json", directory.path() + "/none.i"}));
  const std::string input = file("0002.node0001.json");
  const std::string before = read_whole(input);
  const Outcome outcome = run_tool("trace " + path + " -o " + input);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, Names({input, "-o"}));
  EXPECT_EQ(read_whole(input), before);
  EXPECT_EQ(run_tool("trace " + path + " -o " + directory.path() + "/none/all.json").code, 2);
}

}  // namespace
}  // namespace cairn::test
