// Levels set to `auto`: whole jobs on clocks that go on by what work and snapshots are said to cost, so that the
// schedule must come to what the model says of those costs. No time passes.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "format/job_costs.hpp"
#include "model/pattern.hpp"
#include "store/names.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

constexpr std::uint32_t kNodes = 3;
constexpr auto kCall = 10s;  // of work between two calls of snapshot()
const std::string kAllAuto = "[levels]\nl1 = auto\nl2 = auto\nl3 = auto\nl4 = auto\n";
const std::string kFailures = "[failures]\nmtbf = 1h, 6h, 2d, 20d\n";
const std::string kContinue = "[restart]\nat_end = continue\n";

// Call number → what that call took.
struct Taken {
  std::uint32_t version;
  LevelSet levels;
  friend bool operator==(const Taken&, const Taken&) = default;
};
using Schedule = std::map<std::uint32_t, Taken>;

// Three nodes with one application rank each. Every process has a clock of its own, which shows another time; writing
// costs time on the clock of who does it, and not the same on all nodes.
class CostlyJob {
 public:
  // `head_ranks`: with dedicated heads; else [head] mode = inline.
  CostlyJob(bool head_ranks, const std::string& settings)
      : job_(std::vector<std::uint32_t>(kNodes, head_ranks ? 2 : 1),
             settings + kContinue + (head_ranks ? "" : "[head]\nmode = inline\n")),
        ranks_a_node_(head_ranks ? 2 : 1) {
    job_.clock = [this](std::uint32_t world_rank) {
      return std::chrono::hours(world_rank) + microseconds(clocks_.at(world_rank).load());
    };
    job_.wrap_node = [this](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      return std::make_shared<HookedStore>(std::move(store), [this, node](const HookedStore::Operation& operation) {
        if (operation.kind == HookedStore::Operation::Kind::create) charge(node, file_of(operation.path));
        return Status{};
      });
    };
    job_.wrap_global = [this](std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      return std::make_shared<HookedStore>(std::move(store), [this](const HookedStore::Operation& operation) {
        if (operation.kind == HookedStore::Operation::Kind::create && file_of(operation.path) == "manifest.json")
          pass(head_of(0), cost[3]);
        return Status{};
      });
    };
  }

  // A life of so many calls that ends in finalize, or is killed.
  void live(std::uint32_t calls) {
    job_.run(life(calls));
    end_life();
  }
  void live_and_die(std::uint32_t calls) {
    job_.run_well_and_die(life(calls));
    end_life();
  }

  // On the slowest node.
  std::array<microseconds, kLevels> cost{1s, 3s, 12s, 90s};

  [[nodiscard]] Job& job() { return job_; }
  // In the last life, the same on all ranks.
  [[nodiscard]] const Schedule& taken() const { return taken_; }
  [[nodiscard]] std::vector<std::uint32_t> steps_restored() const { return restored_; }
  // What the job left in its global store.
  [[nodiscard]] JobCosts left() {
    const auto text = read_text(job_.global_store(), names::costs());
    EXPECT_TRUE(text) << text.error().text();
    const auto measured = parse_job_costs(text.value_or(""));
    EXPECT_TRUE(measured) << measured.error().text();
    return measured.value_or(JobCosts{});
  }

 private:
  static std::string file_of(const std::string& path) { return path.substr(path.find('/') + 1); }
  [[nodiscard]] std::uint32_t head_of(std::uint32_t node) const { return (node + 1) * ranks_a_node_ - 1; }
  [[nodiscard]] std::uint32_t world_of(std::uint32_t rank) const { return rank * ranks_a_node_; }

  void pass(std::uint32_t world_rank, microseconds time) { clocks_.at(world_rank) += time.count(); }

  // The last node's application rank is the slowest, and of heads the middle one.
  void charge(std::uint32_t node, const std::string& file) {
    if (names::parse_shard(file)) pass(world_of(node), cost[0] * (node + 1) / kNodes);
    const int share = node == 1 ? 1 : 3;
    if (names::parse_copy(file)) pass(head_of(node), cost[1] / share);
    const auto parity = names::parse_parity(file);
    if (parity && parity->row == 0) pass(head_of(node), cost[2] / share);
  }

  std::function<void(JobSession&)> life(std::uint32_t calls) {
    by_rank_.clear();
    restored_.clear();
    return [this, calls](JobSession& session) {
      Steps steps(session, 50);
      const std::uint32_t from = steps.restore();
      Schedule mine;
      for (std::uint32_t call = 1; call <= calls; ++call) {
        pass(world_of(session.rank()), kCall);
        const auto version = steps.advance();
        if (!version) continue;
        // All that is meant for a level is there, and known, before the next call.
        steps.wait_for_all();
        LevelSet levels;
        for (const LevelId level : kEveryLevel) {
          if (session.safe_version(level) == *version) levels.add(level);
        }
        mine[call] = {*version, levels};
      }
      const std::scoped_lock lock(mutex_);
      by_rank_[session.rank()] = mine;
      restored_.push_back(from);
    };
  }

  void end_life() {
    ASSERT_EQ(by_rank_.size(), kNodes);
    taken_ = by_rank_[0];
    for (const auto& [rank, taken] : by_rank_) EXPECT_EQ(taken, taken_) << "rank " << rank;
  }

  Job job_;
  std::uint32_t ranks_a_node_;
  std::array<std::atomic<std::int64_t>, 2 * std::size_t{kNodes}> clocks_{};
  std::mutex mutex_;
  std::map<std::uint32_t, Schedule> by_rank_;
  std::vector<std::uint32_t> restored_;
  Schedule taken_;
};

model::Pattern best_pattern(const std::vector<std::pair<double, double>>& costs_and_mtbfs) {
  std::vector<model::LevelModel> levels;
  for (const auto& [cost, mtbf] : costs_and_mtbfs) levels.push_back({cost, cost, 1 / mtbf});
  return model::optimal_pattern(levels).value();
}

const model::Pattern kBest = best_pattern({{1, 3600}, {3, 6 * 3600}, {12, 48 * 3600}, {90, 480 * 3600}});

// The snapshots between two at `level`, in all of the schedule.
std::vector<std::uint64_t> distances(const Schedule& schedule, LevelId level) {
  std::vector<std::uint64_t> out;
  std::uint64_t since = 0;
  for (const auto& [call, taken] : schedule) {
    ++since;
    if (taken.levels.has(level)) out.push_back(std::exchange(since, 0));
  }
  return out;
}

// Snapshots of the first look excepted.
void expect_pattern(const Schedule& taken, std::uint32_t calls) {
  Schedule schedule = taken;
  schedule.erase(schedule.begin());
  schedule.erase(schedule.begin());
  const double calls_a_snapshot = kBest.interval() / std::chrono::duration<double>(kCall).count();
  EXPECT_NEAR(static_cast<double>(schedule.size()), calls / calls_a_snapshot, 2);
  for (const LevelId level : kEveryLevel) {
    const auto apart = distances(schedule, level);
    ASSERT_FALSE(apart.empty()) << static_cast<int>(level);
    for (const auto distance : apart) {
      EXPECT_EQ(distance, kBest.every(static_cast<std::size_t>(level) - 1)) << static_cast<int>(level);
    }
  }
}

TEST(AutoRun, comes_to_the_pattern_that_the_model_has_for_what_was_measured) {
  CostlyJob job(true, kAllAuto + kFailures);
  ASSERT_TRUE(kBest.uses(1) && kBest.uses(2));
  const auto calls = static_cast<std::uint32_t>(1.1 * kBest.work / 10);
  job.live(calls);
  expect_pattern(job.taken(), calls);
  const JobCosts left = job.left();
  for (std::size_t i = 0; i < left.levels.size(); ++i) {
    EXPECT_DOUBLE_EQ(left.levels[i].cost, std::chrono::duration<double>(job.cost[i]).count());
  }
  EXPECT_TRUE(left.ended);
}

TEST(AutoRun, measures_the_same_where_the_heads_work_inside_snapshot) {
  CostlyJob job(false, kAllAuto + kFailures);
  const auto calls = static_cast<std::uint32_t>(1.1 * kBest.work / 10);
  job.live(calls);
  expect_pattern(job.taken(), calls);
}

TEST(AutoRun, shows_at_the_second_call_whether_all_levels_work) {
  CostlyJob job(true, kAllAuto + kFailures);
  job.live(5);
  ASSERT_FALSE(job.taken().empty());
  EXPECT_EQ(job.taken().begin()->first, 2U);
  EXPECT_EQ(job.taken().begin()->second.levels, LevelSet::of_bits(0x1e));
}

TEST(AutoRun, follows_a_cost_that_changes) {
  CostlyJob job(true, "[levels]\nl1 = auto\nl2 = off\nl3 = off\nl4 = off\n" + kFailures);
  job.live(200);
  const std::size_t cheap = job.taken().size();
  job.cost[0] = 16s;
  job.live(1000);
  const auto late = std::ranges::count_if(job.taken(), [](const auto& call) { return call.first > 800; });
  // Sixteen times the cost, four times the interval. No other level is on: L1 answers its own failures only.
  EXPECT_NEAR(static_cast<double>(cheap) / static_cast<double>(late), 4, 0.6);
}

TEST(AutoRun, leaves_levels_with_a_rule_of_their_own_to_it) {
  CostlyJob job(true, "[levels]\nl1 = every 4\nl2 = 100s\nl3 = off\nl4 = auto\n[failures]\nmtbf = 1h, 6h, 2h, 1h\n");
  job.cost = {1s, 1s, 1s, 2s};
  job.live(400);
  std::size_t at[kLevels + 1] = {};
  for (const auto& [call, taken] : job.taken()) {
    if (call % 4 == 0) {
      EXPECT_TRUE(taken.levels.has(LevelId::local)) << call;
    }
    for (const LevelId level : kEveryLevel) at[static_cast<std::size_t>(level)] += taken.levels.has(level) ? 1 : 0;
  }
  EXPECT_GE(at[1], 100U);
  EXPECT_NEAR(static_cast<double>(at[2]), 42, 2);  // of 4000 s of work and about 200 s of snapshots
  EXPECT_EQ(at[3], 0U);
  // C = 1 + 2 s, failures of L3 and L4.
  EXPECT_NEAR(static_cast<double>(at[4]), 4000 / std::sqrt(2 * 3 * 3600 / 1.5), 3);
}

TEST(AutoRun, keeps_what_it_measured_for_the_next_life) {
  CostlyJob job(true, kAllAuto + kFailures);
  job.live_and_die(60);
  EXPECT_FALSE(job.left().ended);
  job.live(60);
  // No first look: the first snapshot comes after an interval, with the costs that are known.
  ASSERT_FALSE(job.taken().empty());
  EXPECT_GE(job.taken().begin()->first, static_cast<std::uint32_t>(kBest.interval() / 10));
  EXPECT_LE(job.taken().begin()->first, static_cast<std::uint32_t>(kBest.interval() / 10) + 3);
  EXPECT_EQ(job.left().levels[3].cost, 90);
  EXPECT_TRUE(job.left().ended);
}

TEST(AutoRun, goes_by_its_own_failures_once_it_has_seen_five) {
  CostlyJob job(true, kAllAuto + kFailures);
  job.live_and_die(100);
  for (int failure = 1; failure <= 4; ++failure) job.live_and_die(100);
  EXPECT_EQ(job.left().levels[0].failures, 4U);
  EXPECT_EQ(job.left().levels[0].mtbf, 3600);
  const std::size_t before = job.taken().size();

  job.job().lose(1);
  job.live_and_die(100);
  for (const std::uint32_t step : job.steps_restored()) EXPECT_GT(step, 0U);
  const JobCosts left = job.left();
  EXPECT_EQ(left.levels[0].failures, 4U);
  const auto of_node = left.levels[1].failures + left.levels[2].failures + left.levels[3].failures;
  EXPECT_EQ(of_node, 1U) << "of the highest level that the loss of a node needed";
  EXPECT_NEAR(left.observed, 6 * 1000, 6 * 60);
  EXPECT_DOUBLE_EQ(left.levels[0].mtbf, left.observed / 4);
  EXPECT_GT(left.levels[0].recovery + left.levels[1].recovery, 0);
  // Of L1, an MTBF of about 25 minutes, not an hour.
  EXPECT_GT(job.taken().size(), before + before / 4);
}

TEST(AutoRun, a_life_that_ended_is_no_failure) {
  CostlyJob job(true, kAllAuto + kFailures);
  for (int life = 0; life < 7; ++life) job.live(20);
  for (const LevelCosts& level : job.left().levels) EXPECT_EQ(level.failures, 0U);
  EXPECT_NEAR(job.left().observed, 7 * 200, 7 * 20);
}

TEST(AutoRun, a_life_that_takes_no_snapshot_forgets_nothing) {
  CostlyJob job(true, kAllAuto + kFailures);
  job.live(20);
  job.live(0);
  EXPECT_EQ(job.left().levels[3].cost, 90);
}

TEST(AutoRun, measures_again_when_what_it_left_is_damaged) {
  CostlyJob job(true, kAllAuto + kFailures);
  job.live(20);
  ASSERT_TRUE(write_text(job.job().global_store(), names::costs(), "{\"kind\": \"measured costs\"}"));
  job.job().log_level = "off";
  job.live(20);
  EXPECT_EQ(job.taken().begin()->first, 2U);
  EXPECT_EQ(job.left().levels[0].cost, 1);
}

}  // namespace
}  // namespace cairn::test
