// Losses and damage as an application meets them: a whole job dies, stores are lost, and the next run goes on.
#include <algorithm>
#include <atomic>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "recover/inventory.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/faulty_store.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"
#include "support/survival.hpp"

namespace cairn::test {
namespace {

// Levels by a letter each: which are due at every snapshot.
std::string settings(const std::string& levels, const std::string& more = {}, std::uint32_t parity = 1) {
  const auto due = [&](char level) { return levels.find(level) == std::string::npos ? "off" : "every 1"; };
  return fmt::format(
      "[levels]\nl1 = every 1\nl2 = {}\nl3 = {}\nl4 = {}\n[restart]\nat_end = continue\n[erasure]\nparity = {}\n{}",
      due('2'), due('3'), due('4'), parity, more);
}

// An application of every kind of rank: the first of four has what grows and shrinks, the second a large region, the
// third an empty one beside a scalar, the fourth protects nothing.
class Motley {
 public:
  explicit Motley(JobSession& session) : session_(session) {
    const std::uint32_t kind = session.rank() % 4;
    if (kind < 3) session.protect("step", step_);
    if (kind < 3) session.protect("state", state_);
    if (kind == 2) session.protect("nothing", nothing_);
  }
  RestoreReport restore() {
    nothing_.assign(5, 1);
    const RestoreReport report = session_.restore();
    if (!report.restored || session_.rank() % 4 == 3) return report;
    EXPECT_EQ(step_, report.version);
    EXPECT_EQ(state_, state_at(report.version)) << "rank " << session_.rank() << ", version " << report.version;
    EXPECT_EQ(nothing_.empty(), session_.rank() % 4 == 2);
    return report;
  }
  void advance() {
    nothing_.clear();
    state_ = state_at(++step_);
    session_.snapshot();
  }

 private:
  [[nodiscard]] std::vector<double> state_at(std::uint32_t version) const {
    switch (session_.rank() % 4) {
      case 0: return sample_state(session_.rank(), version, 700 * (version % 3));
      case 1: return sample_state(session_.rank(), version, 150'000);
      default: return sample_state(session_.rank(), version, 10);
    }
  }

  JobSession& session_;
  std::uint32_t step_ = 0;
  std::vector<double> state_;
  std::vector<std::uint8_t> nothing_;
};

void take_motley_snapshots(Job& job, std::uint32_t count) {
  job.run_well_and_die([&](JobSession& session) {
    Motley motley(session);
    EXPECT_FALSE(motley.restore().restored);
    for (std::uint32_t i = 0; i < count; ++i) motley.advance();
    for (const LevelId level : kEveryLevel) session.wait(level);
  });
}

void expect_motley_version(Job& job, std::uint32_t version) {
  job.run_well_and_die([&](JobSession& session) {
    Motley motley(session);
    const RestoreReport report = motley.restore();
    EXPECT_TRUE(report.restored);
    EXPECT_EQ(report.version, version);
  });
}

class HeadModes : public testing::TestWithParam<const char*> {};

TEST_P(HeadModes, bring_back_every_kind_of_rank_after_the_loss_of_any_node) {
  for (const char* levels : {"2", "3", "4", "23"}) {
    Job job({2, 4, 3}, settings(levels, std::string("[head]\nmode = ") + GetParam()));
    take_motley_snapshots(job, 4);
    const Job::Image image = job.image();
    for (std::uint32_t lost = 0; lost < 3; ++lost) {
      SCOPED_TRACE(testing::Message() << "L" << levels << ", node " << lost << " lost");
      job.put_back(image);
      job.lose(lost);
      expect_motley_version(job, 4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, HeadModes, testing::Values("rank", "thread", "inline"),
                         [](const auto& mode) { return std::string(mode.param); });

TEST(JobLoss, jobs_of_one_to_eight_nodes_survive_what_their_levels_promise) {
  for (std::uint32_t nodes = 1; nodes <= 8; ++nodes) {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t node = 0; node < nodes; ++node) ranks.push_back(2 + (node + nodes) % 3);
    // Levels that are not set, and cannot be on these nodes, are off by themselves.
    Job job(ranks, "[restart]\nat_end = continue\n[erasure]\nparity = 2\n");
    job.run_well_and_die([&](JobSession& session) {
      Motley motley(session);
      motley.restore();
      for (std::uint32_t i = 0; i < 8; ++i) motley.advance();
      for (const LevelId level : kEveryLevel) session.wait(level);
    });
    const Job::Image image = job.image();
    const std::uint32_t survived = nodes == 1 ? 0 : nodes == 2 ? 1 : 2;
    for (std::uint32_t first = 0; first < nodes; first += 3) {
      SCOPED_TRACE(testing::Message() << nodes << " nodes, lost from " << first);
      job.put_back(image);
      for (std::uint32_t i = 0; i < survived; ++i) job.lose((first + i) % nodes);
      expect_motley_version(job, 8);
    }
  }
}

TEST(JobLoss, says_unrecoverable_when_one_node_too_many_is_lost) {
  Job job({2, 2, 2, 2}, settings("23"));
  take_motley_snapshots(job, 2);
  for (const std::uint32_t lost : {1U, 2U, 3U}) job.lose(lost);
  job.run_well_and_die([](JobSession& session) {
    Motley motley(session);
    try {
      motley.restore();
      ADD_FAILURE() << "restored what cannot be there";
    } catch (const Exception& error) {
      EXPECT_THAT(error, Fails(ErrorKind::unrecoverable, {"version 2", "node 1", "node 2", "node 3"}));
    }
    EXPECT_THROW(session.snapshot(), Exception);
  });
}

TEST(JobLoss, says_unrecoverable_when_every_store_is_lost) {
  Job job({2, 2}, settings("2"));
  take_motley_snapshots(job, 1);
  job.lose(0);
  job.lose(1);
  job.run_well_and_die([](JobSession& session) {
    Motley motley(session);
    EXPECT_THROW(motley.restore(), Exception);
  });
}

TEST(JobLoss, survivors_read_their_own_shards_and_only_lost_ones_move) {
  Job job({3, 2, 4, 2}, settings("23"));
  take_motley_snapshots(job, 1);
  job.lose(2);
  const auto shards_of = [&](std::uint32_t node) {
    StoreImage shards = image_of(job.node_store(node));
    std::erase_if(shards, [](const auto& file) { return !file.first.ends_with(".shard"); });
    return shards;
  };
  const std::vector<StoreImage> before = {shards_of(0), shards_of(1), {}, shards_of(3)};
  job.run_well_and_die([](JobSession& session) {
    Motley motley(session);
    const RestoreReport report = motley.restore();
    const bool lost = session.rank() >= 3 && session.rank() < 6;
    EXPECT_EQ(report.my_level, lost ? LevelId::partner : LevelId::local);
    EXPECT_EQ(report.ranks_from[0], 4U);
    EXPECT_EQ(report.ranks_from[1], 3U);
    EXPECT_EQ(report.lost_nodes, std::vector<std::string>{"node 2"});
  });
  for (const std::uint32_t survivor : {0U, 1U, 3U}) EXPECT_EQ(shards_of(survivor), before[survivor]);
  EXPECT_EQ(shards_of(2).size(), 3U);
}

// Loses node `first`, restores, waits for what is rebuilt, loses node `second`.
void lose_one_after_another(const std::string& levels, std::uint32_t first, std::uint32_t second) {
  SCOPED_TRACE(testing::Message() << "L" << levels << ": node " << first << ", then node " << second);
  Job job({2, 3, 2, 2}, settings(levels));
  take_motley_snapshots(job, 2);
  job.lose(first);
  job.run([](JobSession& session) { EXPECT_EQ(Motley(session).restore().version, 2U); });
  job.lose_global_snapshots();
  job.lose(second);
  job.run_well_and_die([&](JobSession& session) {
    const RestoreReport report = Motley(session).restore();
    EXPECT_EQ(report.version, 2U);
    EXPECT_EQ(report.ranks_from[levels == "2" ? 1 : 2], second == 1 ? 2U : 1U);
  });
}

TEST(JobLoss, redundancy_is_rebuilt_so_that_a_second_node_can_be_lost) {
  for (std::uint32_t first = 0; first < 4; ++first) {
    for (std::uint32_t second = 0; second < 4; ++second) {
      lose_one_after_another("2", first, second);
      lose_one_after_another("3", first, second);
    }
  }
}

TEST(JobLoss, redundancy_of_a_damaged_file_is_rebuilt_too) {
  Job job({2, 2, 2}, settings("2"));
  take_motley_snapshots(job, 2);
  const auto files = image_of(job.node_store(1));
  const auto copy = std::ranges::find_if(files, [](const auto& file) { return file.first.ends_with(".copy"); });
  ASSERT_NE(copy, files.end());
  ASSERT_TRUE(job.node_store(1).truncate(FileName{copy->first}, 5000));
  job.run([](JobSession& session) { EXPECT_EQ(Motley(session).restore().version, 2U); });
  job.lose_global_snapshots();
  job.lose(0);  // whose copy is on node 1
  expect_motley_version(job, 2);
}

// Node 0 comes back with a store that takes shards and nothing more: the copies that the others have must stay.
TEST(JobLoss, redundancy_that_cannot_be_rebuilt_leaves_what_there_is) {
  for (const std::string level : {"2", "3"}) {
    Job job({2, 2, 2, 2}, "[job]\non_storage_error = throw\n" + settings(level, "", 2));
    take_motley_snapshots(job, 2);
    job.lose(0);
    job.wrap_node = [](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      if (node != 0) return store;
      return std::make_shared<HookedStore>(store, [](const HookedStore::Operation& operation) -> Status {
        const bool extra = operation.path.ends_with(".copy") || operation.path.find("parity") != std::string::npos;
        if (!extra || operation.kind != HookedStore::Operation::Kind::create) return {};
        return fail(Code::no_space, operation.path + ": the store is full");
      });
    };
    const Thrown text =
        thrown_by([&] { job.run([](JobSession& session) { EXPECT_EQ(Motley(session).restore().version, 2U); }); });
    EXPECT_THAT(text, Fails(ErrorKind::storage, {"version 2", "L" + level}));
    job.wrap_node = {};
    job.lose_global_snapshots();
    job.lose(1);
    expect_motley_version(job, 2);
  }
}

TEST(JobLoss, hints_right_wrong_or_stale_never_change_the_outcome) {
  Job job({2, 2, 2, 2}, settings("23"));
  take_motley_snapshots(job, 3);
  const Job::Image image = job.image();
  for (const std::vector<std::uint32_t>& hint : {std::vector<std::uint32_t>{1}, {0}, {2, 3}, {0, 1, 2, 3}, {9}}) {
    job.put_back(image);
    job.lose(1);
    job.failures.lost_nodes = hint;
    job.failures.dead_ranks = hint;
    expect_motley_version(job, 3);
  }
}

// Flips a bit in the data of a rank's shard, where only the rank itself looks when it has not moved.
void damage_own_shard(Job& job, std::uint32_t node, Rank rank) {
  const auto entries = job.node_store(node).list(DirName{});
  ASSERT_TRUE(entries);
  for (const Entry& entry : *entries) {
    const FileName name = names::shard(DirName{entry.name}, rank);
    const auto shard = Shard::open(job.node_store(node), name);
    if (!shard) continue;
    ASSERT_TRUE(job.node_store(node).corrupt(name, shard->header().data_offset + 3));
  }
}

TEST(JobDamage, that_only_a_rank_can_see_is_answered_with_another_source) {
  for (const char* levels : {"2", "3", "4"}) {
    Job job({3, 2, 2}, settings(levels));
    take_motley_snapshots(job, 2);
    damage_own_shard(job, 0, Rank{1});
    damage_own_shard(job, 1, Rank{2});
    job.run_well_and_die([&](JobSession& session) {
      Motley motley(session);
      if (levels == std::string("3")) {
        // Two damaged volumes, one parity.
        EXPECT_THAT(thrown_by([&] { motley.restore(); }),
                    Fails(ErrorKind::unrecoverable, {"version 2", "rank 1", "rank 2"}));
        return;
      }
      const RestoreReport report = motley.restore();
      const bool damaged = session.rank() == 1 || session.rank() == 2;
      EXPECT_EQ(report.my_level != LevelId::local, damaged) << "rank " << session.rank();
    });
  }
}

TEST(JobDamage, beyond_redundancy_is_refused_and_never_returned) {
  Job job({2, 2}, settings(""));
  take_motley_snapshots(job, 2);
  damage_own_shard(job, 0, Rank{0});
  job.run_well_and_die([](JobSession& session) {
    Motley motley(session);
    const Thrown text = thrown_by([&] { motley.restore(); });
    EXPECT_THAT(text, Fails(ErrorKind::unrecoverable, {"version 2", "rank 0"}));
  });
}

// A store that gives other bytes than it was given, again and again: an answer must come, and a right one.
TEST(JobDamage, of_a_store_that_lies_at_every_turn_ends_in_an_answer) {
  Job job({2, 2, 2}, settings("2"));
  take_motley_snapshots(job, 2);
  const Job::Image image = job.image();
  std::uint32_t answered = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    job.put_back(image);
    const auto plan = std::make_shared<FaultPlan>();
    plan->flip_bits_on_read(seed, 2 + seed % 5);
    job.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      return node == 1 ? std::make_shared<FaultyStore>(store, plan) : store;
    };
    std::atomic<std::uint32_t> answers{0};
    job.run_and_die([&](JobSession& session) {
      Motley motley(session);
      thrown_by([&] { motley.restore(); });
      ++answers;
    });
    // It may not even open, when what it reads of its manifests makes no sense.
    EXPECT_TRUE(answers == 3 || answers == 0) << answers;
    answered += answers;
  }
  EXPECT_GT(answered, 0U);
}

TEST(JobRotation, any_three_nodes_of_seven_leave_one_of_the_last_two_snapshots_whole) {
  Job job({1, 1, 1, 1, 1, 1, 1}, settings("2",
                                          "[partner]\ncopies = 2\nrotation = 2\n[head]\nmode = inline\n"
                                          "[storage]\nkeep_local = 1"));
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance_by(5);
    steps.wait_for_all();
  });
  Layout layout{{}, 7, {}, 2, 2, {}, 0};
  for (std::uint32_t node = 0; node < 7; ++node) layout.node_of_rank.push_back(NodeId{node});
  LevelSet partner;
  partner.add(LevelId::partner);
  const Job::Image image = job.image();
  for (std::uint32_t bits = 0; bits < 128; ++bits) {
    const Losses lost = losses_of(bits);
    if (lost.size() != 3) continue;
    // Versions 1 to 5 were promotions 0 to 4.
    const std::uint32_t newest = ranks_beyond_rescue(layout, partner, 4, lost).empty() ? 5 : 4;
    job.put_back(image);
    for (const std::uint32_t node : lost) job.lose(node);
    job.run_well_and_die([&](JobSession& session) { EXPECT_EQ(Steps(session).restore(), newest); });
    ASSERT_FALSE(HasFailure()) << "lost: " << bits;
  }
}

}  // namespace
}  // namespace cairn::test
