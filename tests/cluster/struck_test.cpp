// What has a file that was found bad is a source for the rest of it, and no more: it is not raised to another level,
// nothing is given up for it, and it is not where a job goes on from.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recover/retention.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/head_cluster.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"
#include "support/store_image.hpp"
#include "topology/placement.hpp"

namespace cairn::test {
namespace {

using testing::Each;
using testing::ElementsAre;

// The file of a snapshot by its version.
FileName find_file(const MemoryStore& store, std::uint32_t version, const std::string& file) {
  const auto entries = store.list(DirName{});
  for (const Entry& entry : entries.value()) {
    const auto dir = names::parse_snapshot(entry.name);
    if (dir && dir->version.value == version) return FileName{entry.name + "/" + file};
  }
  ADD_FAILURE() << "no version " << version;
  return {};
}

void flip_shard(Job& job, std::uint32_t node, std::uint32_t version, Rank rank) {
  const FileName shard = find_file(job.node_store(node), version, names::shard({}, rank).path);
  ASSERT_TRUE(job.node_store(node).corrupt(shard, 3 * kShardHeaderBytes));
}

// The stores of these hosts take no file with one of these parts in its name.
void refuse_writes(Job& job, const std::set<std::uint32_t>& hosts, const std::vector<std::string>& parts) {
  job.wrap_node = [=](std::uint32_t host, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    if (!hosts.contains(host)) return store;
    return std::make_shared<HookedStore>(std::move(store), [=](const HookedStore::Operation& operation) -> Status {
      const auto has = [&](const std::string& part) { return operation.path.find(part) != std::string::npos; };
      if (std::ranges::none_of(parts, has)) return {};
      return fail(Code::io, operation.path + ": cannot be written");
    });
  };
}

constexpr const char* kLocalAndGlobal = "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = every 2\n";

// Version 3 is damaged, so the job goes on from version 2, which is at L4, and ends there.
TEST(Struck, version_does_not_become_the_last_one_in_place_of_the_restored) {
  for (const char* at_end : {"continue", "finished"}) {
    SCOPED_TRACE(at_end);
    Job job({2, 2}, std::string(kLocalAndGlobal) + "[restart]\nat_end = " + at_end + "\n");
    take_steps(job, 3);
    flip_shard(job, 1, 3, Rank{1});
    job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
    EXPECT_THAT(contents_of(job.global_store()).versions, ElementsAre(2));
    if (std::string(at_end) == "finished") continue;
    for (std::uint32_t node = 0; node < job.nodes(); ++node) job.lose(node);
    job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
  }
}

// The newest version is of other regions than the program has now, and is damaged on one rank, in what says so or in
// the data: it cannot be had, so that is no mismatch of the one that can.
TEST(Struck, version_of_other_regions_is_no_mismatch) {
  for (const std::uint64_t at : {std::uint64_t{8}, std::uint64_t{3 * kShardHeaderBytes}}) {
    SCOPED_TRACE(at);
    Job job({2, 2}, kLocalAndGlobal);
    take_steps(job, 2);
    job.run_well_and_die([](JobSession& session) {
      Steps steps(session);
      EXPECT_EQ(steps.restore(), 2U);
      int more = 0;
      session.protect("more", more);
      EXPECT_EQ(steps.advance(), 3U);
      session.wait(LevelId::local);
    });
    ASSERT_TRUE(job.node_store(1).corrupt(find_file(job.node_store(1), 3, names::shard({}, Rank{1}).path), at));
    expect_restore(job, 2);
  }
}

// A node is lost, and what it had at L3 cannot be made again. The version that was decoded stays until a newer one is
// at L3: the same node may be lost once more, and with it what is at L1 only.
TEST(Struck, version_that_cannot_be_made_redundant_again_does_not_go_for_one_that_is_not) {
  Job job({2, 2, 2},
          "[levels]\nl1 = every 1\nl2 = off\nl3 = every 1\nl4 = off\n[erasure]\ngroup = 3\nparity = 1\n"
          "[storage]\nkeep_local = 1\n");
  take_steps(job, 3);
  job.lose(2);
  refuse_writes(job, {2}, {"parity"});
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 3U);
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::erasure); }, [&] { steps.advance(); },
                          [&] { session.wait(LevelId::erasure); }),
                Fails(ErrorKind::storage, {"version 4", "L3"}));
  });
  job.wrap_node = {};
  job.lose(2);
  expect_restore(job, 3);
}

// Version 3 is at L2, and version 4 at L3 only; of both one node's part is lost. Version 4 goes on from what L3 brings
// back, and cannot be made redundant again, nor can what comes after. The next loss takes these, so version 3 must be
// there still.
TEST(Struck, version_that_cannot_be_made_redundant_again_does_not_take_one_along_that_has_lost_less) {
  Job job({2, 2, 2, 2, 2, 2},
          "[levels]\nl1 = every 1\nl2 = every 3\nl3 = every 2\nl4 = off\n[partner]\ncopies = 2\n"
          "[erasure]\ngroup = 3\nparity = 1\n[storage]\nkeep_local = 1\n[restart]\nat_end = continue\n");
  take_steps(job, 4);
  job.lose(4);
  refuse_writes(job, {0, 4}, {"parity", ".copy"});
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 4U);
    EXPECT_THAT(thrown_by([&] { steps.advance(); }, [&] { steps.advance(); }, [&] { session.wait(LevelId::erasure); }),
                Fails(ErrorKind::storage, {"version 6", "L3"}));
  });
  job.wrap_node = {};
  job.lose(4);
  job.lose(5);
  expect_restore(job, 3);
}

// Somebody removes it after its ranks have read it, just before its node writes a new manifest of it.
TEST(Struck, version_that_is_removed_while_it_is_restored_does_not_take_an_older_one_along) {
  Job job({3},
          "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[storage]\nkeep_local = 2\n[restart]\nat_end = "
          "continue\n");
  take_steps(job, 2);
  job.reshape({2, 2});
  const std::string manifest = find_file(job.node_store(0), 2, "manifest.json").path;
  const DirName second{manifest.substr(0, manifest.find('/'))};
  job.wrap_node = [&](std::uint32_t host, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    return std::make_shared<HookedStore>(std::move(store),
                                         [&, host](const HookedStore::Operation& operation) -> Status {
                                           const bool notes = operation.path == manifest && host == 0;
                                           return notes ? job.node_store(0).remove_directory(second) : Status{};
                                         });
  };
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 2U);
    steps.advance();
    session.wait(LevelId::local);
  });
  job.wrap_node = {};
  flip_shard(job, 1, 3, Rank{1});
  expect_restore(job, 1);
}

// Node 1's manifest cannot be read for once, so its rank's shard is brought from elsewhere; and that is damaged. It
// does not take the place of the shard that is good.
TEST(Struck, source_does_not_take_the_place_of_a_good_shard) {
  for (const char* redundancy : {".copy", "parity."}) {
    SCOPED_TRACE(redundancy);
    const bool by_copies = redundancy == std::string(".copy");
    Job job({2, 2, 2}, std::string("[levels]\nl1 = every 1\nl2 = ") + (by_copies ? "every 1" : "off") +
                           "\nl3 = " + (by_copies ? "off" : "every 1") +
                           "\nl4 = off\n[erasure]\ngroup = 3\nparity = 1\n[restart]\nat_end = continue\n");
    take_steps(job, 1);
    for (const std::uint32_t node : {0U, 2U}) {
      for (const auto& [path, bytes] : image_of(job.node_store(node))) {
        if (path.find(redundancy) == std::string::npos) continue;
        ASSERT_TRUE(job.node_store(node).corrupt(FileName{path}, bytes.size() / 2)) << path;
      }
    }
    job.wrap_node = [](std::uint32_t host, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      auto hooked =
          std::make_shared<HookedStore>(std::move(store), [](const HookedStore::Operation&) { return Status{}; });
      hooked->on_read = [host](const std::string& path) -> Status {
        if (host != 1 || !path.ends_with("manifest.json")) return {};
        return fail(Code::io, path + ": cannot be read now");
      };
      return hooked;
    };
    EXPECT_THAT(thrown_by([&] { job.run([](JobSession& session) { Steps(session).restore(); }); }),
                Fails(ErrorKind::unrecoverable, {"rank 1"}));
    job.wrap_node = {};
    expect_restore(job, 1);
  }
}

// What a rank has no need to read is damaged all the same: version 3 is whole for the ranks, but could go nowhere.
TEST(Struck, version_is_passed_over_for_what_its_ranks_do_not_read) {
  const std::string settings = std::string(kLocalAndGlobal) + "[restart]\nverify = crc\n";
  for (const std::uint64_t from_end : {std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{8192 + 1}}) {
    SCOPED_TRACE(testing::Message() << from_end << " bytes from its end");
    Job job({2, 2}, settings);
    take_steps(job, 3);
    const FileName shard = find_file(job.node_store(1), 3, names::shard({}, Rank{1}).path);
    const std::uint64_t bytes = image_of(job.node_store(1)).at(shard.path).size();
    ASSERT_TRUE(job.node_store(1).corrupt(shard, bytes - from_end));
    expect_restore(job, 2);
  }
}

// Only "step" is read, and a block of "state" is damaged: what is gone on from must be whole.
TEST(Struck, version_is_passed_over_where_one_region_is_asked_for_and_another_one_is_damaged) {
  constexpr std::size_t kSomeBlocks = 300'000;
  Job job({2, 2}, kLocalAndGlobal);
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session, kSomeBlocks);
    steps.advance_by(3);
    steps.wait_for_all();
  });
  flip_shard(job, 1, 3, Rank{1});
  job.run_well_and_die([](JobSession& session) {
    const Steps steps(session, kSomeBlocks);
    EXPECT_EQ(session.restore("step").version, 2U);
  });
}

// Nobody has read version 3 when it is to be flushed.
TEST(Struck, version_is_found_when_the_chain_ends_and_takes_nothing_away) {
  for (const char* at_end : {"continue", "finished"}) {
    SCOPED_TRACE(at_end);
    Job job({2, 2}, std::string(kLocalAndGlobal) + "[restart]\nat_end = " + at_end + "\n");
    const Thrown told = thrown_by([&] {
      job.run([&](JobSession& session) {
        Steps steps(session);
        steps.restore();
        steps.advance_by(3);
        steps.wait_for_all();
        if (session.rank() == 1) flip_shard(job, 1, 3, Rank{1});
      });
    });
    EXPECT_THAT(told, Fails(ErrorKind::corrupt, {"version 3", "rank000001.shard", "block 0", "CRC-32C"}));
    EXPECT_THAT(contents_of(job.global_store()).versions, ElementsAre(2));
    job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
  }
}

// keep_local = 2 holds versions 2 and 3; one of those two and the next must be versions that can be read.
TEST(Struck, version_is_no_reason_to_retire_an_older_one) {
  Job job({2, 2}, "[storage]\nkeep_local = 2\n[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n");
  take_steps(job, 3);
  flip_shard(job, 1, 3, Rank{1});
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    EXPECT_EQ(steps.restore(), 2U);
    steps.advance_by(1);
    session.wait(LevelId::local);
  });
  flip_shard(job, 0, 4, Rank{0});
  job.run_well_and_die([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
}

// Whatever is damaged of a shard, header, table, data, checksums or padding: it goes nowhere, and what is there already
// stays.
TEST(Struck, shard_is_never_copied_encoded_or_flushed) {
  Layout layout = layout_of_ranks({1, 2, 1, 1});
  layout.copies = 1;
  layout.groups = make_groups(layout.nodes, layout.nodes, 1, {});
  layout.parity = 1;
  HeadCluster cluster(layout, [](std::uint32_t rank) { return 20 + rank * 9'000; });  // up to 1.1 MiB
  const LevelSet all = level_set({LevelId::partner, LevelId::erasure, LevelId::global});
  cluster.protect(all);
  const FileName shard = names::shard(cluster.dir(), Rank{2});
  const std::uint64_t bytes = cluster.image(1).at(shard.path).size();
  const StoreImage global = image_of(cluster.global());
  for (const LevelId level : kAllLevels) {
    if (!all.has(level)) continue;
    for (const std::uint64_t at : {std::uint64_t{100}, kShardHeaderBytes + 3, bytes / 2, bytes - 8190}) {
      SCOPED_TRACE(testing::Message() << "L" << static_cast<int>(level) << ", byte " << at << " of " << bytes);
      cluster.put_back();
      ASSERT_TRUE(cluster.store(1).corrupt(shard, at));
      EXPECT_THAT(cluster.protect_again(level), Each(Names({shard.path})));
      for (std::uint32_t node = 0; node < layout.nodes; ++node) {
        const auto changed = differences(cluster.image(node), image_of(cluster.store(node)));
        EXPECT_EQ(changed, node == 1 ? std::vector{shard.path} : std::vector<std::string>{}) << "node " << node;
      }
      EXPECT_THAT(differences(global, image_of(cluster.global())), ElementsAre());
    }
  }
}

KnownSnapshot known(std::uint32_t version, LevelSet complete, LevelSet struck = {}) {
  return {{Incarnation{1}, Version{version}, RunId{1}}, complete, struck};
}

std::vector<std::uint32_t> versions_of(const std::vector<Identity>& snapshots) {
  std::vector<std::uint32_t> versions;
  for (const Identity& snapshot : snapshots) versions.push_back(snapshot.version.value);
  return versions;
}

TEST(Struck, snapshots_are_kept_beside_those_that_count) {
  const KeepCounts one{{1, 1, 1, 1}};
  const LevelSet here = make_levels().in_node_stores();
  const LevelSet l1 = level_set({LevelId::local});
  const LevelSet both = level_set({LevelId::local, LevelId::partner});
  EXPECT_THAT(versions_of(retirable({known(1, l1), known(2, l1), known(3, {}, l1)}, one, here)), ElementsAre(1));
  EXPECT_THAT(versions_of(retirable({known(1, both), known(2, {}, both), known(3, l1)}, one, here)), ElementsAre());
  EXPECT_THAT(versions_of(retirable({known(1, both), known(2, {}, both), known(3, both)}, one, here)),
              ElementsAre(1, 2));
  EXPECT_THAT(
      versions_of(retirable({known(1, {}, l1), known(2, {}, l1), known(3, {}, l1), known(4, {}, l1)}, one, here)),
      ElementsAre());
  const LevelSet l4 = level_set({LevelId::global});
  EXPECT_THAT(versions_of(retirable_at(LevelId::global, {known(1, l4), known(2, {}, l4)}, one)), ElementsAre());
  EXPECT_THAT(versions_of(retirable_at(LevelId::global, {known(1, l4), known(2, {}, l4), known(3, l4)}, one)),
              ElementsAre(1, 2));
}

}  // namespace
}  // namespace cairn::test
