// What a traced job tells of where its time went.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/job.hpp"
#include "support/temp_directory.hpp"

namespace cairn::test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;
using Names = std::set<std::string>;

constexpr const char* kSettings = R"([levels]
l1 = every 1
l2 = every 1
l3 = every 2
l4 = every 2
[erasure]
group = 4
parity = 2
[restart]
at_end = continue
[head]
mode = {}
threads = 2
[log]
trace = {}/t.json
)";

void take_two(JobSession& session) {
  std::vector<double> state = sample_state(session.rank(), 1);
  session.protect("state", state);
  session.restore();
  for (int i = 0; i < 2; ++i) session.snapshot();
  session.wait(LevelId::global);
}

// Names of spans by file; every file must be whole JSON.
std::map<std::string, Names> spans_in(const std::string& directory) {
  std::map<std::string, Names> spans;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::ifstream in(entry.path());
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    const json events = json::parse(text, nullptr, false);
    EXPECT_FALSE(events.is_discarded()) << entry.path() << text;
    for (const json& event : events) {
      if (event["ph"] == "X" || event["ph"] == "b") spans[entry.path().filename()].insert(event["name"]);
    }
  }
  return spans;
}

// The largest value of each counter in a file.
std::map<std::string, double> counters_in(const std::string& path) {
  std::map<std::string, double> largest;
  std::ifstream in(path);
  for (const json& event : json::parse(in, nullptr, false)) {
    if (event["ph"] != "C") continue;
    double& known = largest[event["name"]];
    known = std::max(known, event["args"].begin()->get<double>());
  }
  return largest;
}

TEST(TracedJob, counts_what_snapshots_take_in_the_store_of_a_node_by_kind) {
  const TempDirectory directory("/tmp");
  Job job({3, 3, 3, 3}, fmt::format(kSettings, "rank", directory.path()));
  job.run_well_and_die(take_two);
  const auto counters = counters_in(directory.path() + "/t.i0001.node0003.json");
  const auto bytes = static_cast<double>(sizeof(double) * (sample_state(6, 1).size() + sample_state(7, 1).size()));
  EXPECT_GE(counters.at("bytes of shards"), bytes);
  EXPECT_GE(counters.at("bytes of copies"), bytes / 2);  // ranks of another node have less, or more
  EXPECT_GE(counters.at("bytes of parity"), bytes / 4);
}

TEST(TracedJob, tells_what_ranks_and_heads_did_in_each_life) {
  const TempDirectory directory("/tmp");
  Job job({3, 3, 3, 3}, fmt::format(kSettings, "rank", directory.path()));
  job.run_well_and_die(take_two);
  job.lose(1);
  job.lose(2);
  job.run(take_two);
  const auto spans = spans_in(directory.path());
  EXPECT_EQ(spans.size(), 2U * (8 + 4));
  EXPECT_THAT(spans.at("t.i0001.rank000000.json"),
              IsSupersetOf(Names{"share settings", "join world", "open stores", "greet head", "snapshot", "write",
                                 "wait", "restore", "wait for head"}));
  EXPECT_THAT(spans.at("t.i0001.node0003.json"),
              IsSupersetOf(Names{"open head", "list stores", "inventory", "seal", "hash", "vote", "promote L2", "send",
                                 "promote L3", "encode", "promote L4", "flush"}));
  EXPECT_THAT(spans.at("t.i0001.node0003.json"), Not(Contains("decode")));
  EXPECT_THAT(spans.at("t.i0002.rank000007.json"), IsSupersetOf(Names{"restore", "read", "snapshot", "finalize"}));
  EXPECT_THAT(spans.at("t.i0002.node0001.json"),
              IsSupersetOf(Names{"answer restore", "plan", "retrieve", "verify", "conclude restore", "finish"}));
  EXPECT_THAT(spans.at("t.i0002.node0001.json"), testing::AnyOf(Contains("decode"), Contains("bring from L2")));
}

TEST(TracedJob, has_one_file_for_a_rank_that_acts_for_its_node) {
  for (const char* mode : {"inline", "thread"}) {
    const TempDirectory directory("/tmp");
    Job job({2, 2, 2, 2}, fmt::format(kSettings, mode, directory.path()));
    job.run(take_two);
    const auto spans = spans_in(directory.path());
    EXPECT_EQ(spans.size(), 8U) << mode;
    EXPECT_THAT(spans.at("t.i0001.rank000002.json"), IsSupersetOf(Names{"snapshot", "hash", "encode", "finish"}))
        << mode;
    EXPECT_THAT(spans.at("t.i0001.rank000003.json"), Not(Contains("hash"))) << mode;
  }
}

TEST(TracedJob, goes_on_when_traces_cannot_be_written) {
  Job job({2, 2, 2, 2}, fmt::format(kSettings, "inline", "/nowhere"));
  job.log_level = "off";
  job.run(take_two);
}

}  // namespace
}  // namespace cairn::test
