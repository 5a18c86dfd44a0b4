// ckpt-tool copy, as a user would run it on stores as a job left them.
#include <ctime>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "format/watch_file.hpp"
#include "run_tool.hpp"
#include "sample_job.hpp"
#include "support/facts.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

class CopyCommand : public testing::Test {
 protected:
  CopyCommand() { job.add_three_snapshots(); }

  [[nodiscard]] std::string archive() const { return job.root() + "/archive"; }
  [[nodiscard]] Outcome copy(const std::string& version, const std::string& more = "--yes") const {
    return run_on(job, fmt::format("copy {} {} {}", version, archive(), more));
  }
  // What verify finds there, and nothing else.
  [[nodiscard]] Outcome verify_archive() const {
    return run_tool(fmt::format("verify --global {} --quiet", archive()));
  }
  void expect_refused(const Outcome& outcome, const Things& names) const {
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_THAT(outcome.err, Names(names));
    EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
  }

  SampleJob job;
};

TEST_F(CopyCommand, writes_nothing_without_yes) {
  const Outcome outcome = copy("41", "");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              testing::AllOf(Names({"version 41", "8 ranks from L1"}), Names({"--yes", archive() + "/heat"})));
  EXPECT_FALSE(fs::exists(archive()));
}

TEST_F(CopyCommand, keeps_snapshots_of_which_a_node_is_lost) {
  job.lose_node(1);
  for (const char* version : {"41", "40"}) {
    const Outcome outcome = copy(version);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, Names({"copied", "[storage] global"}));
  }
  const Outcome verified = verify_archive();
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  EXPECT_THAT(verified.out, Names({"2 snapshots", "version 41"}));
  const Outcome refused = copy("42");
  expect_refused(refused, {"42", "--local"});
  EXPECT_THAT(refused.err, Not(HasSubstr("--partial"))) << "copy has no such option";
  EXPECT_EQ(verify_archive().out, verified.out);
}

TEST_F(CopyCommand, takes_the_newest_recoverable_one_by_name) {
  job.lose_node(1);
  const Outcome outcome = copy("newest");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, Names({"version 41"}));
  EXPECT_THAT(outcome.err, Names({"42"}));
}

TEST_F(CopyCommand, says_what_is_there_already) {
  EXPECT_EQ(copy("40").code, 0);
  const Outcome again = copy("40");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, Names({"already"}));
  const json shown = json::parse(copy("40", "--json").out);
  EXPECT_EQ(shown["already"], true);
  EXPECT_EQ(shown["version"], 40);
  EXPECT_EQ(shown["sources"]["L1"].size(), kNodes * kRanksPerNode);
}

TEST_F(CopyCommand, is_refused_in_places_of_others) {
  expect_refused(run_on(job, fmt::format("copy 40 {} --yes", job.global())), {"own global directory"});
  expect_refused(copy("43"), {"43", "40, 41, 42"});
  expect_refused(copy("x"), {"x", "newest"});
  EXPECT_EQ(copy("40").code, 0);
  std::ofstream(archive() + "/heat/watch.json")
      << to_json(WatchFile{{1}, 8, 4, 4, true, static_cast<std::uint64_t>(std::time(nullptr))});
  expect_refused(copy("41"), {archive(), "4 of 4 heads"});
  std::ofstream(job.root() + "/file") << "text";
  expect_refused(run_on(job, fmt::format("copy 40 {} --yes", job.root() + "/file")), {job.root() + "/file"});
}

TEST_F(CopyCommand, is_refused_where_another_run_has_been) {
  EXPECT_EQ(copy("40").code, 0);
  const fs::path record = fs::path(archive()) / "heat" / fs::path(job.record({1})).filename();
  ASSERT_TRUE(fs::exists(record));
  SampleJob other;
  other.add_run({{2}, RunId{7}, RunRecord::Parent::fresh, {}, true, false});
  fs::copy(other.record({2}, RunId{7}), record.parent_path());
  expect_refused(copy("41"), {"run-", "another directory"});
}

}  // namespace
}  // namespace cairn::test
