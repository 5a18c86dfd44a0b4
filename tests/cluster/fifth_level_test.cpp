// A level that the product knows nothing of: copies of all shards in a second store that all nodes share. It is in the
// table of levels that this job is given, and nowhere else; and takes part in everything that the four take part in.
#include <algorithm>
#include <memory>
#include <mutex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/json_file.hpp"
#include "inspect/audit.hpp"
#include "level/level.hpp"
#include "store/memory/memory_store.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/job.hpp"

namespace cairn::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr LevelId kFifth{5};
constexpr StoreId kSecondStore = StoreId::shared(1);

DirName dir_of(const Identity& snapshot) { return names::snapshot(snapshot); }

FileName part_file(const DirName& dir, Rank rank) { return names::shard(dir, rank); }

class CopiedSnapshot final : public SharedSnapshot {
 public:
  explicit CopiedSnapshot(GlobalManifest manifest) : manifest_(std::move(manifest)) {}

  [[nodiscard]] const Identity& identity() const override { return manifest_.identity; }
  [[nodiscard]] const Layout& layout() const override { return manifest_.layout; }
  [[nodiscard]] const std::vector<ShardEntry>& shards() const override { return manifest_.shards; }
  [[nodiscard]] std::vector<Part> parts() const override {
    std::vector<Part> parts;
    for (const ShardEntry& shard : manifest_.shards)
      parts.push_back({part_file(dir_of(manifest_.identity), shard.rank), shard.bytes, {shard.rank}});
    return parts;
  }
  [[nodiscard]] bool is_same(const SharedSnapshot& other) const override {
    return other.identity() == identity() && other.shards() == shards();
  }
  void verify(const Store& store, const Reading& reading) const override {
    for (const ShardEntry& shard : manifest_.shards) {
      const FileName file = part_file(dir_of(manifest_.identity), shard.rank);
      if (reading.is_told(file)) continue;
      reading.begin(shard.bytes);
      const Status status = verify_shard(store, file, shard, reading.between);
      reading.end();
      reading.tell(file, {shard.rank}, shard.bytes, status);
    }
  }

 private:
  GlobalManifest manifest_;
};

Status copy_file(const Store& from, const FileName& name, Store& to, const std::string& owner, std::uint64_t bytes) {
  auto reader = from.open(name);
  if (!reader) return fail(reader.error());
  Buffer all(bytes);
  if (auto read = (*reader)->read(0, all); !read) return read;
  auto writer = to.create(name, bytes, owner);
  if (!writer) return fail(writer.error());
  if (auto written = (*writer)->write(0, all); !written) return written;
  return (*writer)->commit(bytes, true);
}

class SecondStoreLevel final : public Level {
 public:
  explicit SecondStoreLevel(std::shared_ptr<MemoryStore> second)
      : Level({.effort = Effort::shared, .shared_store = kSecondStore, .is_rebuilt = true}),
        second_(std::move(second)) {}

  [[nodiscard]] bool is_carried_by(const Layout& /*layout*/) const override { return true; }
  [[nodiscard]] bool survives(const Layout& /*layout*/, const std::vector<bool>& /*gone*/,
                              std::uint64_t /*turn*/) const override {
    return true;
  }
  [[nodiscard]] std::uint64_t extra_bytes(std::uint64_t /*own_bytes*/, const Layout& /*layout*/,
                                          NodeId /*me*/) const override {
    return 0;
  }

  [[nodiscard]] std::shared_ptr<Store> store(const NodeContext& /*node*/) const override { return second_; }
  [[nodiscard]] Result<std::shared_ptr<const SharedSnapshot>> look_at(const Store& store, const DirName& dir,
                                                                      const Sealer& sealer) const override {
    auto manifest = read_global_manifest(store, dir, sealer);
    if (!manifest) return fail(manifest.error());
    return std::make_shared<const CopiedSnapshot>(std::move(*manifest));
  }

  [[nodiscard]] Status protect(Comm& heads, const NodeContext& node, NodeManifest& manifest,
                               std::uint64_t /*turn*/) override {
    const std::vector<ShardEntry>& own = *manifest.find(node.layout.id())->own;
    Status mine;
    for (const ShardEntry& shard : own) {
      const FileName file = part_file(node.dir(manifest.identity), shard.rank);
      if (mine) mine = copy_file(*node.local, file, *second_, names::owner_head(), shard.bytes);
    }
    if (auto copied = agree(heads, mine, "node"); !copied) return copied;
    auto entries = heads.allgather(encode_entries(own));
    if (!entries) return fail(entries.error());
    return agree(heads, heads.rank().value == 0 ? write_manifest(node, manifest, *entries) : Status{}, "node");
  }
  [[nodiscard]] Result<RestoreOutcome> restore(Comm& /*heads*/, const NodeContext& node,
                                               const RestoreTask& task) override {
    RestoreOutcome outcome;
    const auto manifest = read_global_manifest(*second_, node.dir(task.snapshot), node.sealer);
    for (std::size_t i = 0; i < task.deliveries.size(); ++i) {
      const Delivery& delivery = task.deliveries[i];
      if (delivery.to.value != node.me.value) continue;
      const FileName file = part_file(node.dir(task.snapshot), delivery.rank);
      const ShardEntry entry = manifest ? manifest->shards[delivery.rank.value] : ShardEntry{};
      if (manifest && copy_file(*second_, file, *node.local, names::owner_rank(delivery.rank), entry.bytes))
        outcome.arrived.push_back({entry, i});
      else
        outcome.strikes.push_back({kSecondStore, file.path});
    }
    return outcome;
  }
  [[nodiscard]] std::unique_ptr<SourceFinder> sources(const KnownParts& known) const override {
    return find_in_shared_store(known, kSecondStore);
  }
  [[nodiscard]] std::string describe(const Delivery& /*delivery*/) const override { return "second store"; }

 private:
  [[nodiscard]] Status write_manifest(const NodeContext& node, const NodeManifest& manifest,
                                      const std::vector<Buffer>& by_node) const {
    GlobalManifest all{manifest.identity, manifest.safe_point, node.layout, {}, {}};
    all.layout.arrangement = 0;
    all.shards.resize(node.layout.node_of_rank.size());
    for (const Buffer& bytes : by_node) {
      auto entries = decode_entries(bytes);
      if (!entries) return fail(entries.error());
      for (const ShardEntry& entry : *entries) all.shards[entry.rank.value] = entry;
    }
    all.node_file_bytes.resize(node.layout.nodes);
    return write_json_text(*second_, names::manifest(node.dir(manifest.identity)), to_json(all, node.sealer),
                           kMostManifestBytes);
  }

  std::shared_ptr<MemoryStore> second_;
};

// Three nodes, with snapshots at levels as each test asks.
class FifthLevel : public testing::Test {
 protected:
  FifthLevel() {
    job_.levels = [this] { return levels(); };
  }

  [[nodiscard]] Levels levels() const {
    Levels levels = make_levels();
    levels.add(kFifth, std::make_shared<SecondStoreLevel>(second_));
    return levels;
  }

  // Takes `count` snapshots more, waits for each at these levels, and dies.
  void take(std::uint32_t count, LevelSet at) {
    job_.run_well_and_die([&](JobSession& session) {
      std::vector<double> state;
      std::uint32_t version = 0;
      protect(session, state, version);
      session.restore();
      for (std::uint32_t i = 0; i < count; ++i) {
        ++version;
        state = sample_state(session.rank(), version);
        session.snapshot(at.has(kFifth) ? kFifth : LevelId::local);
        for (const LevelId level : at) session.wait(level);
      }
    });
  }

  struct Seen {
    std::uint32_t version = 0;
    std::vector<LevelId> levels;  // by rank: where its shard came from
    std::vector<std::string> sources;
  };
  // Restores, checks all bytes, takes a snapshot more, and dies.
  Seen come_back() {
    Seen seen;
    seen.levels.resize(kRanks);
    seen.sources.resize(kRanks);
    std::mutex mutex;
    job_.run_well_and_die([&](JobSession& session) {
      std::vector<double> state;
      std::uint32_t version = 0;
      protect(session, state, version);
      const RestoreReport report = session.restore();
      EXPECT_TRUE(report.restored);
      EXPECT_EQ(state, sample_state(session.rank(), version));
      session.snapshot(kFifth);
      session.wait(kFifth);
      const std::scoped_lock lock(mutex);
      seen.version = version;
      seen.levels[session.rank()] = report.my_level;
      seen.sources[session.rank()] = report.my_source;
    });
    return seen;
  }

  [[nodiscard]] std::vector<std::string> in_second_store() const {
    std::vector<std::string> directories;
    const auto entries = second_->list(DirName{});
    for (const Entry& entry : *entries) directories.push_back(entry.name.substr(0, 9));
    return directories;
  }
  [[nodiscard]] JobStores stores() {
    JobStores stores;
    for (std::uint32_t host = 0; host < job_.nodes(); ++host) stores.nodes.push_back(share(job_.node_store(host)));
    stores.global = share(job_.global_store());
    stores.elsewhere[kSecondStore] = second_;
    stores.levels = levels();
    return stores;
  }
  void lose_the_four() {
    for (std::uint32_t host = 0; host < job_.nodes(); ++host) job_.lose(host);
    job_.lose_global_snapshots();
  }

  static constexpr std::uint32_t kRanks = 6;
  std::shared_ptr<MemoryStore> second_ = std::make_shared<MemoryStore>(MemoryStore::kUnbounded, "second store");
  Job job_{{3, 3, 3},
           "[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = off\n[erasure]\ngroup = 3\nparity = 1\n"
           "[restart]\nat_end = continue\n"};

 private:
  static void protect(JobSession& session, std::vector<double>& state, std::uint32_t& version) {
    session.protect("state", state);
    session.protect("version", version);
  }
  template <class Kept>
  static std::shared_ptr<const Store> share(Kept& store) {
    return {std::shared_ptr<const Store>(), &store};  // the job's own
  }
};

TEST_F(FifthLevel, takes_part_in_promotion) {
  take(1, {kFifth});
  EXPECT_THAT(in_second_store(), ElementsAre("v00000001"));
  EXPECT_THAT(job_.global_store().list(DirName{}).value().size(), 2U) << "the record and the mark of the chain";
}

TEST_F(FifthLevel, brings_back_what_the_four_have_lost) {
  take(2, {kFifth});
  lose_the_four();
  const Seen seen = come_back();
  EXPECT_EQ(seen.version, 2U);
  EXPECT_THAT(seen.levels, testing::Each(kFifth));
  EXPECT_THAT(seen.sources, testing::Each("L5, second store"));
}

TEST_F(FifthLevel, gives_only_what_is_not_nearer) {
  take(1, {kFifth});
  job_.lose(1);
  const Seen seen = come_back();
  EXPECT_THAT(seen.levels, ElementsAre(LevelId::local, LevelId::local, kFifth, kFifth, LevelId::local, LevelId::local));
}

TEST_F(FifthLevel, stands_in_for_another_where_that_is_damaged) {
  job_.configure("[levels]\nl1 = every 1\nl2 = off\nl3 = off\nl4 = every 1\n[restart]\nat_end = continue\n");
  take(1, {kFifth, LevelId::global});
  for (std::uint32_t host = 0; host < job_.nodes(); ++host) job_.lose(host);
  const auto entries = job_.global_store().list(DirName{}).value();
  const auto newest = std::ranges::find_if(entries.rbegin(), entries.rend(), [](const Entry& entry) {
    return names::parse_snapshot(entry.name).has_value();
  });
  ASSERT_NE(newest, entries.rend());
  ASSERT_TRUE(job_.global_store().corrupt(names::node_file(DirName{newest->name}, NodeId{1}), 100));
  const Seen seen = come_back();
  EXPECT_THAT(seen.levels,
              ElementsAre(LevelId::global, LevelId::global, kFifth, kFifth, LevelId::global, LevelId::global));
}

TEST_F(FifthLevel, keeps_no_more_than_it_is_to) {
  take(4, {kFifth});
  EXPECT_THAT(in_second_store(), ElementsAre("v00000004"));
  take(2, {LevelId::local});
  EXPECT_THAT(in_second_store(), ElementsAre("v00000004")) << "what is newer is not at this level";
}

TEST_F(FifthLevel, is_verified_from_outside) {
  take(1, {kFifth});
  const auto good = audit_stores(stores(), {});
  ASSERT_TRUE(good) << good.error().text();
  ASSERT_EQ(good->snapshots.size(), 1U);
  EXPECT_EQ(good->count(Finding::State::good), good->snapshots.front().findings.size());
  EXPECT_TRUE(good->snapshots.front().view.at(kFifth).complete());

  const DirName dir = dir_of(good->snapshots.front().view.identity);
  ASSERT_TRUE(second_->corrupt(part_file(dir, Rank{4}), 5000));
  const auto bad = audit_stores(stores(), {});
  ASSERT_TRUE(bad) << bad.error().text();
  ASSERT_EQ(bad->count(Finding::State::damaged), 1U);
  const auto& findings = bad->snapshots.front().findings;
  const auto damaged = std::ranges::find(findings, Finding::State::damaged, &Finding::state);
  EXPECT_EQ(damaged->level, kFifth);
  EXPECT_THAT(damaged->ranks, ElementsAre(Rank{4}));
  EXPECT_THAT(damaged->where, Names({"second store"}));
  EXPECT_TRUE(bad->snapshots.front().recovery.possible);
}

TEST_F(FifthLevel, is_what_a_job_seen_from_outside_can_be_restored_from) {
  take(1, {kFifth});
  lose_the_four();
  const auto audit = audit_stores(stores(), {.version = {}, .progress = {}, .patience = std::chrono::milliseconds(0)});
  ASSERT_TRUE(audit) << audit.error().text();
  ASSERT_EQ(audit->snapshots.size(), 1U);
  ASSERT_TRUE(audit->snapshots.front().recovery.possible) << audit->snapshots.front().recovery.why_not;
  for (const Delivery& source : audit->snapshots.front().recovery.sources) EXPECT_EQ(source.level, kFifth);
}

TEST_F(FifthLevel, is_made_again_after_a_restore) {
  job_.configure("[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = off\n[restart]\nat_end = continue\n");
  take(1, {kFifth});
  const Identity snapshot = audit_stores(stores(), {})->snapshots.front().view.identity;
  second_->wipe();
  job_.lose(2);
  job_.run([&](JobSession& session) {
    std::vector<double> state;
    session.protect("state", state);
    std::uint32_t version = 0;
    session.protect("version", version);
    EXPECT_TRUE(session.restore().restored);
  });
  EXPECT_THAT(in_second_store(), ElementsAre("v00000001"));
  const auto audit = audit_stores(stores(), {});
  ASSERT_TRUE(audit) << audit.error().text();
  EXPECT_EQ(audit->snapshots.front().view.identity, snapshot);
  EXPECT_TRUE(audit->snapshots.front().view.at(kFifth).complete());
  EXPECT_EQ(audit->snapshots.front().count(Finding::State::damaged), 0U);
}

}  // namespace
}  // namespace cairn::test
