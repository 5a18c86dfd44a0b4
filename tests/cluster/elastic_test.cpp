// A job that comes back with another number of ranks, or with other parts of its arrays.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elastic_job.hpp"
#include "store/names.hpp"
#include "support/counting_store.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

using Ranks = std::vector<std::uint32_t>;  // world ranks of each node, head included

void expect_grid(Job& job, std::uint32_t step) {
  job.run_well_and_die([&](JobSession& session) { EXPECT_EQ(Grid(session).restore(), step); });
}

// A life of the job that goes on from a step, takes a snapshot, and waits for it.
void go_on_from(Job& job, std::uint32_t step) {
  job.run_well_and_die([&](JobSession& session) {
    Grid grid(session);
    EXPECT_EQ(grid.restore(), step);
    grid.advance();
    grid.wait_for_all();
  });
}

struct Change {
  Ranks before;
  Ranks after;
};
const std::vector<Change> kChanges = {
    {{3, 3}, {2, 2}},           // 4 -> 2
    {{3, 3}, {4}},              // 4 -> 3 on one node; the other store is not seen
    {{2, 2}, {3, 3}},           // 2 -> 4
    {{4}, {3, 3, 3, 3}},        // 3 -> 8
    {{2, 2, 2, 2}, {4, 2, 2}},  // 4 -> 5 on three nodes
};

TEST(Elastic, restores_from_the_own_stores_of_nodes) {
  for (const auto& [before, after] : kChanges) {
    if (after.size() < before.size()) continue;
    SCOPED_TRACE(fmt::format("{} nodes, {} ranks on the first", after.size(), after.front() - 1));
    Job job(before, elastic_settings(""));
    take_grid_steps(job, 2);
    job.reshape(after);
    expect_grid(job, 2);
    go_on_from(job, 2);
    expect_grid(job, 3);
    job.reshape(before);
    expect_grid(job, before.size() < after.size() ? 2 : 3);  // some of version 3 is in stores that are not seen
  }
}

TEST(Elastic, restores_what_lost_nodes_had_from_their_partners_and_by_decoding) {
  for (const char* level : {"2", "3"}) {
    for (std::uint32_t lost = 0; lost < 4; ++lost) {
      for (const Ranks& after : {Ranks{3, 3, 3}, Ranks{2, 2, 2, 2}, Ranks{3, 2, 3, 4}}) {
        SCOPED_TRACE(fmt::format("L{}, node {} lost, {} nodes", level, lost, after.size()));
        Job job({3, 3, 3, 3}, elastic_settings(level));
        take_grid_steps(job, 2);
        job.lose(lost);
        std::vector<std::uint32_t> hosts;
        for (std::uint32_t host = 0; host < 4; ++host)
          if (host != lost) hosts.push_back(host);
        if (after.size() == 4) hosts.push_back(lost);
        job.reshape(after, hosts);
        expect_grid(job, 2);
        go_on_from(job, 2);
      }
    }
  }
}

TEST(Elastic, restores_what_only_the_global_store_has) {
  for (const auto& [before, after] : kChanges) {
    Job job(before, elastic_settings("4"));
    take_grid_steps(job, 2);
    for (std::uint32_t node = 0; node < before.size(); ++node) job.lose(node);
    job.reshape(after);
    expect_grid(job, 2);
    go_on_from(job, 2);
    expect_grid(job, 3);
  }
}

TEST(Elastic, says_whose_snapshot_was_restored) {
  Job job({3, 3}, elastic_settings("2"));
  take_grid_steps(job, 2);
  job.reshape({4, 3}, {0, 1});
  job.run_well_and_die([](JobSession& session) {
    Grid grid(session);
    grid.restore();
    const RestoreReport& report = session.last_restore();
    EXPECT_EQ(report.old_ranks, 4U);
    EXPECT_EQ(report.version, 2U);
    EXPECT_EQ(report.ranks_from[0], 4U);
  });
}

// A sequence of this many numbers, of which each rank has an equal share. Returns the report of its restore.
constexpr std::uint64_t kNumbers = 48 * 1024;

RestoreReport restore_numbers(Job& job) {
  std::atomic<std::uint64_t> moved{0};
  RestoreReport report;
  job.run_well_and_die([&](JobSession& session) {
    const std::uint64_t share = kNumbers / session.size();
    std::vector<double> numbers(share);
    session.protect("numbers", numbers, sequence);
    const RestoreReport mine = session.restore();
    for (std::uint64_t i = 0; i < share; ++i) {
      const auto number = static_cast<double>(session.rank() * share + i);
      if (mine.restored) {
        ASSERT_EQ(numbers.at(i), number);
      }
      numbers.at(i) = number;
    }
    if (session.rank() == 0) report = mine;
    moved += mine.bytes_moved;
    session.snapshot();
    for (const LevelId level : {LevelId::local, LevelId::partner, LevelId::global}) session.wait(level);
  });
  EXPECT_EQ(moved % std::max<std::uint64_t>(report.bytes_moved, 1), 0U) << "not the same on all ranks";
  return report;
}

TEST(Elastic, reports_the_bytes_that_went_from_node_to_node) {
  Job job({3, 3, 3}, elastic_settings("2"));
  EXPECT_EQ(restore_numbers(job).bytes_moved, 0U);
  EXPECT_EQ(restore_numbers(job).bytes_moved, 0U) << "each node has its shards";
  job.lose(1);
  const std::uint64_t lost = kNumbers * sizeof(double) / 3;
  const std::uint64_t moved = restore_numbers(job).bytes_moved;
  EXPECT_GE(moved, lost);
  EXPECT_LE(moved, lost * 13 / 10);
}

struct Move {
  Ranks before;
  Ranks after;
  std::vector<std::uint32_t> hosts;  // of `after`; those of before have the first numbers
};

std::vector<std::uint32_t> host_of_each_number(const Ranks& nodes, const std::vector<std::uint32_t>& hosts) {
  std::vector<std::uint32_t> of_rank;
  for (std::size_t node = 0; node < nodes.size(); ++node)
    of_rank.insert(of_rank.end(), nodes[node] - 1, hosts.empty() ? static_cast<std::uint32_t>(node) : hosts[node]);
  std::vector<std::uint32_t> of_number;
  for (const std::uint32_t host : of_rank) of_number.insert(of_number.end(), kNumbers / of_rank.size(), host);
  return of_number;
}

// A decode takes more than it gives, so L3 is not among them.
TEST(Elastic, sends_little_more_between_nodes_than_what_changes_its_node) {
  const std::vector<Move> moves = {
      {{3, 3}, {2, 2}, {}},                        // 4 -> 2
      {{3, 3}, {3, 2}, {}},                        // 4 -> 3
      {{3, 3}, {3, 3, 3, 3}, {}},                  // 4 -> 8
      {{3, 3, 3, 3}, {2, 2, 2, 2}, {}},            // 8 -> 4
      {{3, 3, 3, 3}, {3, 3}, {}},                  // 8 -> 4 on two nodes: the others' shards come from L4
      {{2, 2, 2, 2}, {2, 2, 2}, {0, 2, 3}},        // 4 -> 3: a node is lost
      {{2, 2, 2, 2}, {3, 3, 3, 3}, {0, 4, 2, 3}},  // 4 -> 8: another one instead
      {{3, 3}, {3, 2}, {2, 3}},                    // 4 -> 3: all nodes are lost
  };
  constexpr std::uint64_t kSmall = 2048;  // tables and orders
  for (const Move& move : moves) {
    SCOPED_TRACE(
        fmt::format("{} nodes to {} on hosts {}", move.before.size(), move.after.size(), fmt::join(move.hosts, ", ")));
    Job job(move.before, elastic_settings("24"));
    restore_numbers(job);
    const auto before = host_of_each_number(move.before, {});
    const auto after = host_of_each_number(move.after, move.hosts);
    std::uint64_t changed = 0;
    for (std::uint64_t i = 0; i < kNumbers; ++i) changed += before[i] != after[i] ? sizeof(double) : 0;
    job.reshape(move.after, move.hosts);
    const RestoreReport report = restore_numbers(job);
    EXPECT_TRUE(report.restored);
    EXPECT_LE(report.bytes_moved, changed * 13 / 10 + kSmall);
  }
}

TEST(Elastic, sends_no_elements_between_ranks_of_a_node) {
  Job job({3, 3}, elastic_settings(""));
  restore_numbers(job);
  for (const Ranks& now : {Ranks{5, 5}, Ranks{3, 3}}) {
    job.reshape(now);
    EXPECT_TRUE(restore_numbers(job).restored);
    std::uint64_t sent = 0;
    for (const Traffic& of_rank : job.traffic()) sent += of_rank.message_bytes;
    EXPECT_LT(sent, kNumbers * sizeof(double) / 4);
  }
}

// Bytes that no choice of nodes for whole shards can save: what other nodes than the one that gets most of a shard get.
std::uint64_t bytes_across_nodes(std::size_t old_ranks, const std::vector<std::uint32_t>& host_of_number) {
  std::uint64_t across = 0;
  const std::size_t of_shard = kNumbers / old_ranks;
  for (std::size_t begin = 0; begin < kNumbers; begin += of_shard) {
    std::map<std::uint32_t, std::uint64_t> by_host;
    for (std::size_t i = begin; i < begin + of_shard; ++i) ++by_host[host_of_number[i]];
    std::uint64_t most = 0;
    for (const auto& [host, numbers] : by_host) most = std::max(most, numbers);
    across += of_shard - most;
  }
  return across * sizeof(double);
}

TEST(Elastic, brings_shards_of_the_global_store_to_the_nodes_that_need_most_of_them) {
  const std::vector<Move> moves = {
      {{3, 3}, {2, 2}, {2, 3}},                          // 4 -> 2
      {{3, 3}, {3, 2}, {2, 3}},                          // 4 -> 3
      {{3, 3}, {3, 3, 3, 3}, {2, 3, 4, 5}},              // 4 -> 8
      {{3, 3, 3, 3}, {3, 3}, {4, 5}},                    // 8 -> 4
      {{2, 2, 2, 2}, {3, 2}, {4, 5}},                    // 4 -> 3
      {{4, 4}, {2, 4, 5}, {2, 3, 4}},                    // 6 -> 8
      {{7, 7}, {2, 3, 2, 3, 2, 2}, {2, 3, 4, 5, 6, 7}},  // 12 -> 8
  };
  constexpr std::uint64_t kSmall = 4096;  // tables and orders
  for (const Move& move : moves) {
    SCOPED_TRACE(fmt::format("from {} nodes to hosts {}", move.before.size(), fmt::join(move.hosts, ", ")));
    Job job(move.before, elastic_settings("4"));
    restore_numbers(job);
    const std::size_t old_ranks = std::accumulate(move.before.begin(), move.before.end(), 0U) - move.before.size();
    const std::uint64_t across = bytes_across_nodes(old_ranks, host_of_each_number(move.after, move.hosts));
    job.reshape(move.after, move.hosts);
    const RestoreReport report = restore_numbers(job);
    EXPECT_TRUE(report.restored);
    EXPECT_LE(report.bytes_moved, across + kSmall);
  }
}

// With the same number of ranks and with others.
TEST(Elastic, reads_each_shard_of_the_global_store_once) {
  constexpr std::uint64_t kMany = 12 * 64 * 1024;
  const auto live = [](JobSession& session, bool is_restored) {
    std::vector<double> numbers(kMany / session.size());
    session.protect("numbers", numbers, sequence);
    EXPECT_EQ(session.restore().restored, is_restored);
    if (is_restored) return;
    session.snapshot();
    session.wait(LevelId::global);
  };
  for (const auto& [before, after] : kChanges) {
    Job job(before, elastic_settings("4"));
    job.run_well_and_die([&](JobSession& session) { live(session, false); });
    for (std::uint32_t node = 0; node < before.size(); ++node) job.lose(node);
    for (const Ranks& now : {before, after}) {
      job.reshape(now);
      const auto global = std::make_shared<CountingStore>(std::shared_ptr<Store>(&job.global_store(), [](Store*) {}));
      job.wrap_global = [&](const std::shared_ptr<Store>&) { return global; };
      job.run_well_and_die([&](JobSession& session) { live(session, true); });
      job.wrap_global = {};
      for (std::uint32_t node = 0; node < now.size(); ++node) job.lose(node);
      const double times = static_cast<double>(global->readings().bytes) / (kMany * sizeof(double));
      EXPECT_GE(times, 1);
      EXPECT_LE(times, 1.05);
    }
  }
}

// The same number of ranks, and other parts of the array.
TEST(Elastic, moves_elements_between_as_many_ranks_as_before) {
  Job job({3, 3}, elastic_settings(""));
  const auto protect = [](JobSession& session, std::vector<double>& block, bool tall) {
    const std::uint64_t rank = session.rank();
    const GlobalPlace rows{{4, 4}, {rank, 0}};
    const GlobalPlace squares{{4, 4}, {rank / 2 * 2, rank % 2 * 2}};
    if (tall)
      session.protect("block", block.data(), {2, 2}, squares);
    else
      session.protect("block", block.data(), {1, 4}, rows);
  };
  job.run_well_and_die([&](JobSession& session) {
    std::vector<double> block;
    for (std::uint32_t column = 0; column < 4; ++column) block.push_back(10 * session.rank() + column);
    protect(session, block, false);
    session.snapshot();
    session.wait(LevelId::local);
  });
  for (const bool tall : {true, false, true}) {
    job.run_well_and_die([&](JobSession& session) {
      std::vector<double> block(4);
      protect(session, block, tall);
      EXPECT_TRUE(session.restore().restored);
      const std::uint32_t row = tall ? session.rank() / 2 * 2 : session.rank();
      const std::uint32_t column = tall ? session.rank() % 2 * 2 : 0;
      EXPECT_EQ(block[0], 10 * row + column);
      EXPECT_EQ(block[3], tall ? 10 * (row + 1) + column + 1 : 10 * row + column + 3);
      if (tall) session.snapshot();
      if (tall) session.wait(LevelId::local);
    });
  }
}

TEST(Elastic, is_refused_unless_it_is_on) {
  Job job({3, 3}, elastic_settings(""));
  take_grid_steps(job, 2);
  std::string off = elastic_settings("");
  off.replace(off.find("elastic = on"), 12, "elastic = off");
  job.configure(off);
  job.reshape({2, 2});
  job.run_and_die([](JobSession& session) {
    EXPECT_THAT(thrown_by([&] { Grid(session).restore(); }), Fails(ErrorKind::mismatch, {"4 ranks", "2", "elastic"}));
  });
  job.configure(elastic_settings(""));
  expect_grid(job, 2);
}

// What a program does not say, or says wrong, is an error on all ranks, and the snapshot stays.
TEST(Elastic, names_what_does_not_fit_and_keeps_the_snapshot) {
  Job job({3, 3}, elastic_settings("2"));
  job.run_well_and_die([](JobSession& session) {
    std::vector<int> x(3, static_cast<int>(session.rank()));
    int step = 1;
    session.protect("x", x, sequence);
    session.protect("step", step, same);
    session.snapshot();
    session.wait(LevelId::partner);
  });
  job.reshape({3, 2});
  const auto refuse = [&](const std::function<void(JobSession&, std::vector<int>&, int&)>& protect,
                          const std::vector<std::string>& words) {
    job.run_and_die([&](JobSession& session) {
      std::vector<int> x(4);
      int step = 0;
      protect(session, x, step);
      EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(ErrorKind::mismatch, {words.begin(), words.end()}));
      EXPECT_THAT(thrown_by([&] { session.snapshot(); }), Fails(ErrorKind::mismatch, {"restore failed"}));
      session.finalize();
    });
  };
  refuse(
      [](JobSession& session, std::vector<int>& x, int& step) {
        session.protect("x", x);
        session.protect("step", step, same);
      },
      {"\"x\"", "a kind"});
  refuse(
      [](JobSession& session, std::vector<int>& x, int& step) {
        session.protect("x", x, same);
        session.protect("step", step, same);
      },
      {"\"x\"", "old ranks"});
  refuse(
      [](JobSession& session, std::vector<int>& x, int& step) {
        session.protect("x", x, sequence_part(4 * session.rank(), 3));
        session.protect("step", step, same);
      },
      {"\"x\"", "no rank requests"});
  refuse([](JobSession& session, std::vector<int>& x, int&) { session.protect("x", x, sequence); }, {"\"step\""});
  job.run_well_and_die([](JobSession& session) {
    std::vector<int> x;
    int step = 0;
    session.protect("x", x, sequence);
    session.protect("step", step, same);
    EXPECT_THAT(thrown_by([&] { session.restore("x"); }), Fails(ErrorKind::mismatch, {"\"x\"", "alone"}));
    EXPECT_TRUE(session.restore().restored);
    EXPECT_EQ(x.size(), 4U);
    EXPECT_EQ(step, 1);
  });
}

// Paths in a node's store.
std::set<std::string> files_on(const MemoryStore& store) {
  std::set<std::string> files;
  for (const auto& [path, bytes] : image_of(store)) files.insert(path);
  return files;
}

TEST(Elastic, works_with_every_kind_of_head) {
  for (const char* mode : {"thread", "inline"}) {
    SCOPED_TRACE(mode);
    Job job({2, 2}, fmt::format("[head]\nmode = {}\n{}", mode, elastic_settings("24")));
    take_grid_steps(job, 2);
    job.reshape({1, 2});
    expect_grid(job, 2);
    go_on_from(job, 2);
    job.lose(1);
    job.reshape({3, 3});
    expect_grid(job, 3);
  }
}

// A byte of each shard in turn, in its header, in the data, and at its end.
TEST(Elastic, takes_copies_of_shards_that_are_damaged) {
  Job job({3, 3}, elastic_settings("2"));
  take_grid_steps(job, 2);
  const Job::Image whole = job.image();
  job.reshape({2, 4});
  for (std::size_t node = 0; node < 2; ++node) {
    for (const auto& [path, bytes] : whole.nodes[node]) {
      if (!path.ends_with(".shard")) continue;
      for (const std::size_t at : {std::size_t{20}, bytes.size() / 2, bytes.size() - 1}) {
        SCOPED_TRACE(fmt::format("byte {} of {} on node {}", at, path, node));
        Job::Image damaged = whole;
        damaged.nodes[node][path][at] ^= std::byte{1};
        job.put_back(damaged);
        expect_grid(job, 2);
      }
    }
  }
}

TEST(Elastic, leaves_nothing_behind_of_what_was_brought) {
  Job job({3, 3}, elastic_settings("4"));
  take_grid_steps(job, 2);
  job.lose(1);
  job.reshape({2, 2});
  go_on_from(job, 2);
  for (std::uint32_t node = 0; node < 2; ++node)
    EXPECT_THAT(files_on(job.node_store(node)), Not(Contains(HasSubstr(names::brought().path)))) << node;
}

// Version 2 is of other ranks, and cannot be read; version 1 is of as many, and its shards lie where they belong.
TEST(Elastic, leaves_nothing_behind_of_what_was_brought_for_a_snapshot_that_then_could_not_be_read) {
  Job job({3, 3, 3}, elastic_settings("2", "[storage]\nkeep_local = 3\n"));
  take_grid_steps(job, 1);
  job.reshape({2, 2, 2});
  go_on_from(job, 1);
  job.lose(1);
  Job::Image damaged = job.image();
  for (auto& [path, bytes] : damaged.nodes[0])
    if (path.starts_with("v00000002") && path.ends_with("/rank000000.shard")) bytes[bytes.size() / 2] ^= std::byte{1};
  job.put_back(damaged);
  job.reshape({3, 3, 3});
  go_on_from(job, 1);
  for (std::uint32_t node = 0; node < 3; ++node)
    EXPECT_THAT(files_on(job.node_store(node)), Not(Contains(HasSubstr(names::brought().path)))) << node;
}

// A node's store is full for a while.
TEST(Elastic, fails_where_a_store_has_no_room_for_what_it_gets_and_works_later) {
  for (const char* levels : {"2", "3", "4"}) {
    SCOPED_TRACE(levels);
    Job job({3, 3, 3}, elastic_settings(levels));
    take_grid_steps(job, 2);
    job.lose(1);
    if (std::string(levels) == "4") job.lose(0);
    job.reshape({3, 2, 2});
    std::atomic<bool> is_full{true};
    job.wrap_node = [&](std::uint32_t, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      return std::make_shared<HookedStore>(store, [&](const HookedStore::Operation& operation) -> Status {
        if (!is_full || !operation.path.starts_with(names::brought().path + "/")) return {};
        return fail(Code::no_space, operation.path + ": the store is full");
      });
    };
    job.run_well_and_die([&](JobSession& session) {
      Grid grid(session);
      EXPECT_THAT(thrown_by([&] { grid.restore(); }), Fails(ErrorKind::storage, {"full"}));
      is_full = false;
      EXPECT_EQ(grid.restore(), 2U);
    });
  }
}

// A store of a given size.
class SmallStore final : public HookedStore {
 public:
  SmallStore(std::shared_ptr<Store> store, Hook hook, std::uint64_t free)
      : HookedStore(std::move(store), std::move(hook)), free_(free) {}
  Result<std::uint64_t> free_bytes() const override { return free_; }

 private:
  std::uint64_t free_;
};

TEST(Elastic, moves_nothing_if_what_it_brings_does_not_fit_into_a_store) {
  for (const char* levels : {"2", "3", "4"}) {
    SCOPED_TRACE(levels);
    Job job({3, 3, 3}, elastic_settings(levels));
    take_grid_steps(job, 2);
    job.lose(1);
    if (std::string(levels) == "4") job.lose(0);
    job.reshape({3, 2, 2});
    std::atomic<int> brought{0};
    job.wrap_node = [&](std::uint32_t, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      const auto note = [&](const HookedStore::Operation& operation) -> Status {
        if (operation.path.starts_with(names::brought().path + "/")) ++brought;
        return {};
      };
      return std::make_shared<SmallStore>(std::move(store), note, 100);
    };
    job.run_and_die([&](JobSession& session) {
      EXPECT_THAT(thrown_by([&] { Grid(session).restore(); }),
                  Fails(ErrorKind::storage, {"node", "version 2", "MiB free"}));
    });
    EXPECT_EQ(brought, 0);
    job.wrap_node = {};
    expect_grid(job, 2);
  }
}

TEST(Elastic, removes_what_a_restore_that_died_had_brought) {
  Job job({3, 3}, elastic_settings("2"));
  take_grid_steps(job, 2);
  auto left = job.node_store(1).create(FileName{names::brought().path + "/rank000001.shard"}, 8, "");
  ASSERT_TRUE(left && (*left)->commit(8, false));
  left->reset();
  expect_grid(job, 2);
  EXPECT_THAT(files_on(job.node_store(1)), Not(Contains(HasSubstr(names::brought().path))));
}

TEST(Elastic, tells_before_a_restore_how_many_elements_a_rank_will_get) {
  Job job({3, 3}, elastic_settings("2"));
  take_grid_steps(job, 2);
  job.reshape({2, 3});
  job.run_well_and_die([](JobSession& session) {
    const std::uint32_t rank = session.rank();
    EXPECT_EQ(session.stored_total("ids"), 101U);
    EXPECT_EQ(session.stored_total("positions"), 202U);
    EXPECT_EQ(session.stored_total("rows"), 23U * 40U);
    EXPECT_EQ(session.stored_total("columns"), std::nullopt);
    EXPECT_EQ(session.stored("columns"), std::nullopt);
    EXPECT_EQ(session.stored("ids"), rank < 2 ? 34U : 33U);
    std::uint32_t step = 0;
    std::string protocol;
    session.protect("step", step, same);
    session.protect("protocol", protocol, of_rank(0));
    session.protect("ids", protocol, sequence_part(0, 7));
    session.protect("positions", protocol, like("ids"));
    EXPECT_EQ(session.stored("step"), 1U);
    EXPECT_EQ(session.stored("ids"), 7U);
    EXPECT_EQ(session.stored("positions"), 14U);
    EXPECT_THAT(thrown_by([&] { (void)session.stored("protocol"); }), Fails(ErrorKind::usage, {"protocol"}));

    // Memory of a size that cannot change later, cut as the program likes.
    std::vector<double> rows(*session.stored_total("rows") / 40 / 3 * 40 + (rank == 2 ? 2 * 40 : 0));
    std::vector<std::int64_t> ids(rank == 1 ? 101 : 0);
    std::vector<float> positions(2 * ids.size());
    session.protect("rows", rows, GlobalPlace{{23, 40}, {7 * rank, 0}});
    session.protect("ids", ids.data(), ids.size(), sequence_part(rank < 2 ? 0 : 101, ids.size()));
    session.protect("positions", std::span(positions), like("ids"));
    if (rank > 0) session.unprotect("protocol");
    EXPECT_TRUE(session.restore().restored);
    EXPECT_EQ(step, 2U);
    EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size());
    EXPECT_EQ(session.stored_total("ids"), 101U) << "it is known";
  });
}

TEST(Elastic, knows_totals_on_the_same_number_of_ranks_too) {
  Job job({3, 3}, elastic_settings("2"));
  take_grid_steps(job, 2);
  std::string off = elastic_settings("");
  off.replace(off.find("elastic = on"), 12, "elastic = off");
  for (const std::string& one : {elastic_settings(""), off}) {
    job.configure(one);
    job.run_well_and_die([](JobSession& session) {
      EXPECT_EQ(session.stored("rows"), (session.rank() == 0 ? 5U : 6U) * 40U);
      EXPECT_EQ(session.stored_total("rows"), 23U * 40U);
      EXPECT_EQ(Grid(session).restore(), 2U);
    });
  }
}

// A periodic array of 6 x 8 in blocks, each with a ghost at all sides, one of another width.
struct Halo {
  std::uint64_t rows, columns, first_row, first_column;
  std::vector<int> cells;

  Halo(const SessionBase& session, std::uint64_t down, std::uint64_t across) : rows(6 / down), columns(8 / across) {
    first_row = session.rank() / across * rows;
    first_column = session.rank() % across * columns;
    cells.assign((rows + 2) * (columns + 3), -1);
  }
  void protect(JobSession& session) {
    session.protect("cells", cells.data(), {rows + 2, columns + 3},
                    GlobalPlace{{6, 8}, {first_row, first_column}, {1, 2}, {1, 1}});
  }
  int& at(std::uint64_t row, std::uint64_t column) { return cells[(row + 1) * (columns + 3) + column + 2]; }
  void fill() {
    for (std::uint64_t row = 0; row < rows; ++row)
      for (std::uint64_t column = 0; column < columns; ++column)
        at(row, column) = static_cast<int>(10 * (first_row + row) + first_column + column);
  }
  // Own elements, and ghosts in the array; others are as they were.
  void expect_filled() const {
    for (std::uint64_t i = 0; i < cells.size(); ++i) {
      const std::int64_t row = static_cast<std::int64_t>(first_row + i / (columns + 3)) - 1;
      const std::int64_t column = static_cast<std::int64_t>(first_column + i % (columns + 3)) - 2;
      const bool is_inside = row >= 0 && row < 6 && column >= 0 && column < 8;
      EXPECT_EQ(cells[i], is_inside ? 10 * row + column : -7) << row << ", " << column;
    }
  }
};

// The old ranks have not exchanged their ghosts, which have wrong values.
TEST(Elastic, takes_no_data_from_ghosts_and_fills_those_that_have_an_owner) {
  struct Grids {
    Ranks ranks;
    std::uint64_t down, across;
  };
  for (const auto& [ranks, down, across] :
       {Grids{{3, 3}, 2, 2}, Grids{{3, 3}, 1, 4}, Grids{{2, 2}, 2, 1}, Grids{{4, 4}, 3, 2}}) {
    Job job({3, 3}, elastic_settings(""));
    job.run_well_and_die([](JobSession& session) {
      Halo halo(session, 2, 2);
      halo.protect(session);
      halo.fill();
      session.snapshot();
      session.wait(LevelId::local);
    });
    SCOPED_TRACE(fmt::format("{} x {}", down, across));
    job.reshape(ranks);
    job.run_well_and_die([&, down = down, across = across](JobSession& session) {
      Halo halo(session, down, across);
      std::ranges::fill(halo.cells, -7);
      halo.protect(session);
      EXPECT_TRUE(session.restore().restored);
      if (session.size() == 4 && down == 2) return;  // each rank has its own block again, with its ghosts
      halo.expect_filled();
    });
  }
}

// Until there is a snapshot of this number of ranks, the old one is the job's state.
TEST(Elastic, takes_the_next_snapshot_for_the_levels_of_the_old_one) {
  Job job({2, 2, 2}, elastic_settings("2"));
  take_grid_steps(job, 2);
  std::string rarely = elastic_settings("2");
  while (rarely.find("every 1\n") != std::string::npos) rarely.replace(rarely.find("every 1\n"), 8, "every 100\n");
  job.configure(rarely);
  job.reshape({3, 3, 3});
  expect_grid(job, 2);
  expect_grid(job, 2);
  job.run_well_and_die([](JobSession& session) {
    Grid grid(session);
    EXPECT_EQ(grid.restore(), 2U);
    EXPECT_TRUE(session.due());
    EXPECT_EQ(grid.advance(), 3U);
    session.wait(LevelId::partner);
    EXPECT_EQ(session.safe_version(LevelId::partner), 3U);
    EXPECT_FALSE(session.due());
    EXPECT_EQ(grid.advance(), std::nullopt);
  });
  job.lose(1);
  expect_grid(job, 3);
}

// The new snapshot has reached its own nodes only. Until it is as safe as the old one was, that one stays.
TEST(Elastic, goes_back_to_the_old_snapshot_if_the_new_one_is_lost_with_a_node) {
  Job job({3, 3, 3}, elastic_settings("2"));
  take_grid_steps(job, 2);
  job.reshape({2, 2, 2});
  job.wrap_node = [](std::uint32_t, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    return std::make_shared<HookedStore>(store, [](const HookedStore::Operation& operation) -> Status {
      if (!names::parse_copy(operation.path.substr(operation.path.find('/') + 1))) return {};
      if (operation.kind != HookedStore::Operation::Kind::create) return {};
      return fail(Code::no_space, operation.path + ": the store is full");
    });
  };
  job.log_level = "off";
  job.run_well_and_die([](JobSession& session) {
    Grid grid(session);
    EXPECT_EQ(grid.restore(), 2U);
    EXPECT_EQ(grid.advance(), 3U);
    session.wait(LevelId::local);
    thrown_by([&] { session.wait(LevelId::partner); });
  });
  job.wrap_node = {};
  const Job::Image left = job.image();
  expect_grid(job, 3);
  job.put_back(left);
  job.lose(1);
  expect_grid(job, 2);
  job.put_back(left);
  job.lose(1);
  job.reshape({4, 4, 2});
  expect_grid(job, 2);
}

TEST(Elastic, uses_the_global_store_where_fewer_nodes_cannot_keep_copies) {
  Job job({2, 2},
          "[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = every 100\n[restart]\nelastic = on\n"
          "at_end = continue\n");
  take_grid_steps(job, 2);
  job.reshape({2});
  job.run_well_and_die([](JobSession& session) {
    Grid grid(session);
    EXPECT_EQ(grid.restore(), 2U);
    grid.advance();
    session.wait(LevelId::global);
    EXPECT_EQ(session.safe_version(LevelId::global), 3U);
  });
  job.lose(0);
  expect_grid(job, 3);
}

TEST(Elastic, leaves_the_global_store_alone_where_it_is_off) {
  Job job({2, 2}, elastic_settings("2"));
  take_grid_steps(job, 2);
  job.reshape({2});
  job.run_well_and_die([](JobSession& session) {
    Grid grid(session);
    EXPECT_EQ(grid.restore(), 2U);
    EXPECT_EQ(grid.advance(), 3U);
    grid.wait_for_all();
  });
  EXPECT_THAT(contents_of(job.global_store()).versions, IsEmpty());
}

TEST(Elastic, repeats_the_exchange_at_another_restore) {
  Job job({3, 3}, elastic_settings("2"));
  take_grid_steps(job, 2);
  job.reshape({2, 2});
  job.run_well_and_die([](JobSession& session) {
    Grid grid(session);
    EXPECT_EQ(grid.restore(), 2U);
    grid.compute();
    EXPECT_EQ(grid.restore(), 2U);
    grid.advance();
    EXPECT_EQ(grid.restore(), 3U);
  });
}

TEST(Elastic, keeps_the_old_snapshot_if_the_job_ends_before_the_next) {
  std::string ends = elastic_settings("24");
  ends.replace(ends.find("at_end = continue"), 17, "at_end = finished");
  Job job({3, 3}, elastic_settings("24"));
  take_grid_steps(job, 2);
  job.configure(ends);
  job.reshape({2, 2});
  job.run([](JobSession& session) { EXPECT_EQ(Grid(session).restore(), 2U); });
  expect_grid(job, 2);
  job.run([](JobSession& session) {
    Grid grid(session);
    EXPECT_EQ(grid.restore(), 2U);
    grid.advance();
  });
  expect_grid(job, 0);
}

}  // namespace
}  // namespace cairn::test
