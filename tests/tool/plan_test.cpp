// Runs ckpt-tool plan and simulate, and looks at what is computed from their arguments.
#include <fstream>
#include <regex>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "config/config.hpp"
#include "format/job_costs.hpp"
#include "plot.hpp"
#include "run_tool.hpp"
#include "scenario.hpp"
#include "support/facts.hpp"
#include "support/temp_directory.hpp"
#include "text.hpp"

namespace cairn::test {
namespace {

using ckpt_tool::read_scenario;
using ckpt_tool::ScenarioOptions;
using testing::AllOf;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr double kDay = 86400;
const std::string kFourLevels = " --cost 1s,6s,8s,90s --recovery 1s,5s,9s,2min --mtbf 12h,3d,10d,60d ";

TEST(PlanOfRanks, says_which_snapshot_is_restored_and_which_regions_need_a_kind) {
  const SampleJob job;
  job.add_snapshot(7, {LevelId::local, LevelId::partner});
  Outcome outcome = run_on(job, "plan --ranks 6");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(StartsWith("version 7 of 8 ranks can be restored on 6: 8 ranks from L1\n"),
                                 HasSubstr("cover the array: plate\n"), HasSubstr("kinds: step\n")));
  EXPECT_THAT(run_on(job, "plan --ranks 8").out, StartsWith("version 7 of 8 ranks can be restored on 8: "));
  job.lose_node(1);
  EXPECT_THAT(run_on(job, "plan --ranks 6").out, HasSubstr("6 ranks from L1, 2 ranks from L2\n"));
  job.lose_node(2);
  outcome = run_on(job, "plan --ranks 6");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, Names({"not recoverable", "version 7", "ranks 2, 3"}));
}

TEST(PlanOfRanks, says_that_an_older_snapshot_is_restored) {
  const SampleJob job;
  job.add_snapshot(6, kUpToErasure);
  job.add_snapshot(7, {LevelId::local});
  job.lose_node(3);
  const Outcome outcome = run_on(job, "plan --ranks 12");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(Names({"not recoverable", "version 7"}), Names({"version 6", "on 12"})));
}

TEST(PlanOfRanks, says_that_the_configuration_refuses_it) {
  const SampleJob job;
  job.add_snapshot(7, {LevelId::local});
  const std::string file = job.root() + "/job.ini";
  std::ofstream(file) << "[job]\nname = heat\n[storage]\nlocal = " << job.local() << "\nglobal = " << job.global()
                      << "\n[restart]\nelastic = off\n";
  const Outcome outcome = run_tool("plan --ranks 6 --config " + file);
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_THAT(outcome.out, Names({"version 7", "8 ranks", "6", "elastic = off"}));
  EXPECT_EQ(run_tool("plan --ranks 8 --config " + file).code, 0);
}

TEST(PlanOfRanks, is_not_mixed_with_intervals) {
  EXPECT_EQ(run_tool("plan --ranks 6" + kFourLevels + "--local /tmp").code, 2);
  EXPECT_EQ(run_tool("plan --local /tmp" + kFourLevels).code, 2);
}

TEST(Scenario, takes_recoveries_from_costs_where_they_are_left_out) {
  ScenarioOptions options;
  options.costs = {"500ms", "1.5min"};
  options.mtbfs = {"1y", "never"};
  options.numbers = {1, 4};
  const auto scenario = read_scenario(options).value();
  EXPECT_THAT(scenario.ids, ElementsAre(LevelId::local, LevelId::global));
  EXPECT_DOUBLE_EQ(scenario.levels[0].cost, 0.5);
  EXPECT_DOUBLE_EQ(scenario.levels[0].rate, 1 / (365.25 * kDay));
  EXPECT_DOUBLE_EQ(scenario.levels[1].recovery, 90);
  EXPECT_EQ(scenario.levels[1].rate, 0);
}

TEST(Scenario, shares_the_failures_of_the_nodes_out_to_the_levels) {
  ScenarioOptions options;
  options.costs = {"1s", "6s"};
  options.node_mtbf = "1000d";
  options.nodes = 100;
  options.shares = {0.8, 0.2};
  const auto scenario = read_scenario(options).value();
  EXPECT_DOUBLE_EQ(scenario.levels[0].rate, 0.8 / (10 * kDay));
  EXPECT_DOUBLE_EQ(scenario.levels[1].rate, 0.2 / (10 * kDay));
  EXPECT_DOUBLE_EQ(ckpt_tool::overall_mtbf(scenario), 10 * kDay);
  options.shares = {0.8, 0.3};
  EXPECT_THAT(read_scenario(options), Fails(Code::invalid_argument, {"--shares", "1.1", "1"}));
}

TEST(CkptToolPlan, writes_for_how_many_nodes_the_times_between_failures_hold) {
  const std::string of_nodes = "plan --cost 1s,6s,8s,90s --node-mtbf 5y --nodes 1000 --shares 0.4,0.3,0.2,0.1";
  EXPECT_THAT(run_tool(of_nodes).out, AllOf(HasSubstr("[failures]\nmtbf = "), HasSubstr("\nnodes = 1000\n")));
  EXPECT_THAT(run_tool("plan --cost 1s,6s,8s,90s --mtbf 12h,3d,10d,60d").out, Not(HasSubstr("nodes = ")));
}

TEST(Scenario, reads_measured_levels_and_lets_the_command_line_go_before) {
  const TempDirectory scratch("/tmp");
  ScenarioOptions options;
  options.measured = scratch.path() + "/costs.json";
  std::ofstream(options.measured)
      << R"({"levels": [{"cost": 1, "recovery": 0.5, "mtbf": 1800}, {"cost": 6, "mtbf": 9}]})";
  options.mtbfs = {"30min", "10h"};
  const auto scenario = read_scenario(options).value();
  EXPECT_THAT(scenario.levels[0].recovery, DoubleEq(0.5));
  EXPECT_THAT(scenario.levels[1].recovery, DoubleEq(6));
  EXPECT_THAT(scenario.levels[1].rate, DoubleEq(1.0 / 36000));
  std::ofstream(options.measured) << R"({"levels": [{"cost": "a lot"}]})";
  EXPECT_THAT(read_scenario(options), Fails(Code::corrupt, {options.measured, "level 1", "cost"}));
  std::ofstream(options.measured) << "[]";
  EXPECT_THAT(read_scenario(options), Fails(Code::corrupt, {options.measured, "levels"}));
}

TEST(Scenario, reads_what_a_job_has_measured_of_itself) {
  const TempDirectory scratch("/tmp");
  JobCosts measured;
  measured.levels = {{{1, 0.5, 1800, 7}, {0, 0, 7200, 0}, {6, 0, 3600, 0}, {0, 0, 86400, 0}}};
  ScenarioOptions options;
  options.measured = scratch.path() + "/costs.json";
  std::ofstream(options.measured) << to_json(measured);
  const auto scenario = read_scenario(options);
  ASSERT_TRUE(scenario) << scenario.error().text();
  EXPECT_THAT(scenario->ids, ElementsAre(LevelId::local, LevelId::erasure)) << "what was measured";
  EXPECT_THAT(scenario->levels[0].recovery, DoubleEq(0.5));
  EXPECT_THAT(scenario->levels[1].recovery, DoubleEq(6));
  EXPECT_THAT(scenario->levels[1].rate, DoubleEq(1.0 / 7200 + 1.0 / 3600)) << "failures that need L2 too";
}

TEST(Scenario, says_what_is_missing_or_wrong) {
  const auto error_with = [](std::vector<std::string> costs, std::vector<std::string> mtbfs, auto change) {
    ScenarioOptions options;
    options.costs = std::move(costs);
    options.mtbfs = std::move(mtbfs);
    change(options);
    return read_scenario(options);
  };
  const auto as_it_is = [](ScenarioOptions&) {};
  const auto is_wrong = [](Things things) { return Fails(Code::invalid_argument, std::move(things)); };
  EXPECT_THAT(error_with({"1s"}, {}, as_it_is), is_wrong({"L1", "--mtbf", "--node-mtbf"}));
  EXPECT_THAT(error_with({}, {"1d"}, as_it_is), is_wrong({"L1", "--cost"}));
  EXPECT_THAT(error_with({"1s", "2s"}, {"1d"}, as_it_is), is_wrong({"--mtbf", "1", "2 levels"}));
  EXPECT_THAT(error_with({"1 parsec"}, {"1d"}, as_it_is), is_wrong({"--cost", "1 parsec", "10min"}));
  EXPECT_THAT(error_with({"1s"}, {"0s"}, as_it_is), is_wrong({"L1", "MTBF", "0"}));
  EXPECT_THAT(error_with({"0s"}, {"1d"}, as_it_is), is_wrong({"0 s"}));
  EXPECT_THAT(error_with({"1s"}, {"1d"}, [](auto& options) { options.node_mtbf = "1y"; }),
              is_wrong({"--mtbf", "--node-mtbf"}));
  EXPECT_THAT(error_with({"1s", "2s"}, {"1d", "2d"},
                         [](auto& options) {
                           options.numbers = {4, 1};
                         }),
              is_wrong({"--levels", "1"}));
}

TEST(CkptToolText, writes_computed_times_with_three_digits) {
  EXPECT_EQ(ckpt_tool::duration_text(0.0125), "12.5 ms");
  EXPECT_EQ(ckpt_tool::duration_text(99.5), "99.5 s");
  EXPECT_EQ(ckpt_tool::duration_text(1234), "20.6 min");
  EXPECT_EQ(ckpt_tool::duration_text(5 * kDay), "5 d");
  EXPECT_EQ(ckpt_tool::duration_text(1 / 0.0), "never");
  EXPECT_EQ(ckpt_tool::percent_text(0.0521), "5.2 %");
}

TEST(CkptToolPlan, prints_the_pattern_and_lines_that_the_configuration_takes) {
  const Outcome outcome = run_tool("plan" + kFourLevels);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, Names({"overhead", "2.2 %"}));
  const auto start = outcome.out.find("[levels]");
  ASSERT_NE(start, std::string::npos);
  const auto config = parse_config(outcome.out.substr(start), "plan.ini", {});
  ASSERT_TRUE(config) << config.error().text();
  const auto first = config->levels.of(LevelId::local);
  const auto last = config->levels.of(LevelId::global);
  EXPECT_EQ(first.time, std::chrono::minutes(5));
  EXPECT_EQ(config->levels.of(LevelId::partner).kind, Interval::Kind::off);
  EXPECT_EQ(last.time % first.time, std::chrono::milliseconds(0));
  EXPECT_EQ(config->failures.mtbf.at(3), std::chrono::hours(60 * 24));
}

TEST(CkptToolPlan, prints_no_time_that_the_configuration_does_not_take) {
  const Outcome outcome = run_tool("plan --cost 30s,90s,100000000000000000000y,5min --mtbf 5y,9000000y,1e30y,1e50y");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto start = outcome.out.find("[levels]");
  ASSERT_NE(start, std::string::npos);
  const auto config = parse_config(outcome.out.substr(start), "plan.ini", {});
  ASSERT_TRUE(config) << config.error().text() << outcome.out;
  EXPECT_EQ(config->failures.mtbf.at(3), kLongestTime);
}

TEST(CkptToolPlan, warns_where_failures_are_too_frequent_for_the_formula) {
  EXPECT_THAT(run_tool("plan --cost 1s,6s --mtbf 3min,15min").out, Names({"ckpt-tool simulate"}));
  EXPECT_THAT(run_tool("plan" + kFourLevels).out, Not(Names({"ckpt-tool simulate"})));
}

TEST(CkptToolPlan, asks_for_costs_and_mtbfs_where_there_are_none) {
  const TempDirectory directory("/tmp");
  const std::string empty = directory.path() + "/empty.json";
  std::ofstream(empty) << R"({"levels": []})";
  for (const std::string command : {"plan", "simulate"}) {
    const Outcome outcome = run_tool(command);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, Names({"--cost", "--mtbf", "--measured"})) << command;
    EXPECT_THAT(run_tool(command + " --measured " + empty).err, Names({empty, "--cost", "--mtbf"})) << command;
  }
}

TEST(CkptToolPlan, answers_a_mistake_with_one_line) {
  const Outcome outcome = run_tool("plan --cost 1s,6 --mtbf 1h,2h");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, Names({"--cost", "6", "10min"}));
}

TEST(CkptToolSimulate, compares_strategies_and_draws_them) {
  const TempDirectory scratch("/tmp");
  const std::string plot = scratch.path() + "/overhead.svg";
  const std::string command = "simulate --cost 1s,6s --mtbf 1d,10d --work 1d --runs 100 --helpers 3 --plot " + plot;
  const Outcome outcome = run_tool(command);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  for (const std::string strategy :
       {"L2 only", "best pattern", "best pattern, local rollback", "best pattern, 3 helpers"})
    EXPECT_NE(outcome.out.find("\n" + strategy + " "), std::string::npos) << outcome.out;
  const std::string svg = read_whole(plot);
  EXPECT_THAT(svg, AllOf(StartsWith("<svg "), HasSubstr("best pattern, 3 helpers"), HasSubstr("</svg>")));
  EXPECT_THAT(svg, AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
  EXPECT_EQ(run_tool(command + " --threads 3").out, outcome.out);
  EXPECT_NE(run_tool(command + " --seed 2").out, outcome.out);
}

TEST(CkptToolSimulate, puts_the_published_table_beside_its_own) {
  const Outcome outcome = run_tool("simulate --paper bondarenko2019 --runs 500");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(Names({"240 s", "1200 s", "812"}), Names({"180 s", "900 s", "25.3", "5.1"})));
  EXPECT_EQ(run_tool("simulate --paper nobody2020").code, 2);
}

nlohmann::json simulated(const std::string& more) {
  const Outcome outcome =
      run_tool("simulate --cost 1s,6s --mtbf 1h,2h --work 1d --runs 200 --json --helpers 5 " + more);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

double overhead_of(const nlohmann::json& report, const std::string& name) {
  for (const auto& strategy : report.at("strategies")) {
    if (strategy.at("name") == name) return strategy.at("overhead").at("mean").get<double>();
  }
  ADD_FAILURE() << "no strategy " << name;
  return 0;
}

TEST(CkptToolSimulate, rolls_back_only_the_lost_where_the_log_survives) {
  const auto process = simulated("");
  const auto node = simulated("--survives node");
  EXPECT_EQ(overhead_of(node, "best pattern"), overhead_of(process, "best pattern"));
  EXPECT_LT(overhead_of(node, "best pattern, 5 helpers"), overhead_of(process, "best pattern, 5 helpers"));
  EXPECT_LT(overhead_of(process, "best pattern, 5 helpers"), overhead_of(process, "best pattern, local rollback"));
  const auto l4_only = run_tool("simulate --cost 1s --mtbf 1h --levels 4 --runs 10 --json");
  EXPECT_EQ(nlohmann::json::parse(l4_only.out).at("strategies").size(), 1U);
}

TEST(CkptToolSimulate, compares_given_intervals_with_the_best_ones) {
  const auto report = simulated("--intervals 20s,20min");
  EXPECT_GT(overhead_of(report, "given intervals"), overhead_of(report, "best pattern"));
  const auto& levels = report.at("strategies").at(2).at("levels");
  EXPECT_DOUBLE_EQ(levels.at(0).at("interval").get<double>(), 20);
  EXPECT_DOUBLE_EQ(levels.at(1).at("interval").get<double>(), 1200);
  EXPECT_THAT(simulated("--intervals off,20min").at("strategies").at(2).at("levels").at(0).contains("interval"),
              testing::IsFalse());
}

TEST(CkptToolSimulate, names_intervals_that_cannot_be) {
  const std::string command = "simulate --cost 1s,6s --mtbf 1h,2h --runs 10 --intervals ";
  for (const auto& [intervals, named] : std::vector<std::pair<std::string, std::string>>{{"10min", "1 for 2"},
                                                                                         {"10min,25min", "10min"},
                                                                                         {"10min,5min", "10min"},
                                                                                         {"10,20min", "'10'"},
                                                                                         {"off,off", "off"},
                                                                                         {"0s,10min", "0s"}}) {
    const Outcome outcome = run_tool(command + intervals);
    EXPECT_EQ(outcome.code, 2) << intervals;
    EXPECT_THAT(outcome.err, Names({"--intervals", named}));
  }
}

TEST(CkptToolSimulate, says_which_file_it_cannot_write) {
  const Outcome outcome = run_tool("simulate --cost 1s --mtbf 1d --work 1h --runs 10 --plot /nowhere/at.svg");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, Names({"/nowhere/at.svg"}));
}

// Local rollback without helpers costs as much as without it.
TEST(Plot, shows_a_curve_that_another_one_covers) {
  const std::string svg = ckpt_tool::svg_text({"title",
                                               {{"covered", {{60, 0.5}, {3600, 0.1}}},
                                                {"above", {{60, 0.5001}, {3600, 0.1}}},
                                                {"beside", {{60, 0.4}, {3600, 0.2}}}},
                                               0.5});
  std::vector<std::string> widths;
  const std::regex curve("<polyline [^>]*stroke-width=\"([0-9]+)\"");
  for (std::sregex_iterator it(svg.begin(), svg.end(), curve), end; it != end; ++it) widths.push_back((*it)[1]);
  EXPECT_THAT(widths, ElementsAre("7", "2", "2"));
}

TEST(Plot, draws_every_series_within_its_frame) {
  const std::string svg =
      ckpt_tool::svg_text({"title", {{"one", {{60, 0.5}, {3600, 0.1}}}, {"two", {{60, 9}, {3600, 0.2}}}}, 0.5});
  EXPECT_THAT(svg, AllOf(HasSubstr("50 %"), HasSubstr(">1 min<"), HasSubstr(">1 h<"), HasSubstr(">two<")));
}

}  // namespace
}  // namespace cairn::test
