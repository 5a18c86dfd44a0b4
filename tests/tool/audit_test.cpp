// What an audit makes of stores that a running job changes under its eyes.
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "inspect/audit.hpp"
#include "sample_job.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"

// HDF5 forgets some bytes of its own when a read fails under it. The leak sanitizer asks for this by name.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

// A store to which something happens as it is read. Nothing else of it is asked for.
class WatchedStore final : public Store {
 public:
  using Hook = std::function<void(const std::string& what)>;
  WatchedStore(std::shared_ptr<const Store> store, Hook hook) : store_(std::move(store)), hook_(std::move(hook)) {}

  Result<std::unique_ptr<Reader>> open(const FileName& name) const override {
    hook_(name.path);
    return store_->open(name);
  }
  Result<std::vector<Entry>> list(const DirName& directory) const override {
    hook_(directory.path);
    if (!unlisted.path.empty() && directory == unlisted) return fail(Code::io, directory.path + ": cannot be listed");
    return store_->list(directory);
  }
  Result<std::uint64_t> free_bytes() const override { return store_->free_bytes(); }
  std::string where() const override { return store_->where(); }

  DirName unlisted;  // listing this directory fails

  Result<std::unique_ptr<Writer>> create(const FileName&, std::uint64_t, const std::string&) override {
    return refuse();
  }
  Status patch(const FileName&, std::uint64_t, Bytes) override { return refuse(); }
  Status sync(const FileName&) override { return refuse(); }
  Status retire(const FileName&, const std::string&) override { return refuse(); }
  Status remove(const FileName&) override { return refuse(); }
  Status remove_directory(const DirName&) override { return refuse(); }
  Status rename_directory(const DirName&, const DirName&) override { return refuse(); }
  Status clean() override { return refuse(); }
  Result<std::unique_ptr<Lock>> lock() override { return refuse(); }
  Result<std::unique_ptr<Bell>> bell() override { return refuse(); }

 private:
  static tl::unexpected<Error> refuse() { return fail(Code::io, "an audit must not do this"); }
  std::shared_ptr<const Store> store_;
  Hook hook_;
};

JobStores open_all(const SampleJob& job) {
  JobStores stores;
  for (std::uint32_t node = 0; node < kNodes; ++node) {
    stores.nodes.push_back(
        PosixStore::open_existing(job.local() + "/" + names::node_directory(NodeId{node}), "heat").value());
  }
  stores.global = PosixStore::open_existing(job.global(), "heat").value();
  return stores;
}

std::size_t bad(const Audit& audit) {
  return audit.count(Finding::State::damaged) + audit.count(Finding::State::missing);
}

// From the n-th read on, of whatever file that is.
TEST(Audit, calls_nothing_damaged_or_missing_that_cannot_be_read) {
  const SampleJob job;
  job.add_snapshot(42, kEveryLevel);
  const JobStores stores = open_all(job);
  std::string failed = "none";
  for (std::uint64_t n = 0; !failed.empty() && !HasFailure(); n += 9) {
    std::uint64_t reads = 0;
    failed.clear();
    const auto wrap = [&](const std::shared_ptr<const Store>& store) {
      auto hooked = std::make_shared<HookedStore>(std::const_pointer_cast<Store>(store),
                                                  [](const HookedStore::Operation&) { return Status{}; });
      hooked->on_read = [&, where = store->where()](const std::string& path) -> Status {
        if (reads++ == n) failed = where + "/" + path;
        if (failed != where + "/" + path) return {};
        return fail(Code::io, path + ": injected");
      };
      return hooked;
    };
    JobStores faulty;
    for (const auto& store : stores.nodes) faulty.nodes.push_back(wrap(store));
    faulty.global = wrap(stores.global);
    const auto audit = audit_stores(faulty, {{}, {}, std::chrono::milliseconds(0)});
    ASSERT_TRUE(audit) << audit.error().text();
    if (failed.empty()) continue;
    SCOPED_TRACE(testing::Message() << "read " << n << ", of " << failed);
    EXPECT_EQ(bad(*audit), 0U);
    EXPECT_EQ(audit->count(Finding::State::newer), 0U);
    const auto snapshot = audit->snapshots.begin();
    ASSERT_NE(snapshot, audit->snapshots.end());
    EXPECT_TRUE(snapshot->recovery.possible) << snapshot->recovery.why_not;
    for (const Finding& finding : snapshot->findings) {
      if (finding.state != Finding::State::unreadable || finding.file.path.empty()) continue;
      EXPECT_TRUE(finding.where.starts_with(failed)) << finding.where;
      EXPECT_THAT(finding.what, Names({"injected"}));
    }
  }
}

TEST(Audit, calls_a_snapshot_retired_that_goes_away_while_it_is_read) {
  const SampleJob job;
  job.add_snapshot(42, kUpToErasure);
  JobStores stores = open_all(job);
  bool gone = false;
  // As a job retires: manifests first, then headers.
  stores.nodes[1] = std::make_shared<WatchedStore>(stores.nodes[1], [&](const std::string& what) {
    if (gone || !what.ends_with("rank000003.shard")) return;
    gone = true;
    for (std::uint32_t node = 0; node < kNodes; ++node) fs::remove(job.node(node, 42) + "/manifest.json");
    flip_byte(job.shard(3, 42), 0);
    for (std::uint32_t node = 2; node < kNodes; ++node) fs::remove_all(job.node(node, 42));
  });
  const auto audit = audit_stores(stores, {});
  ASSERT_TRUE(audit) << audit.error().text();
  EXPECT_TRUE(gone);
  EXPECT_EQ(bad(*audit), 0U);
  EXPECT_GT(audit->count(Finding::State::retired), 0U);
}

TEST(Audit, calls_a_file_damaged_when_its_manifest_was_only_renewed) {
  const SampleJob job;
  job.add_snapshot(42, {LevelId::local});
  JobStores stores = open_all(job);
  stores.nodes[1] = std::make_shared<WatchedStore>(stores.nodes[1], [&](const std::string& what) {
    if (!what.ends_with("rank000003.shard")) return;
    flip_middle_byte(job.shard(3, 42));
    // Renewed, as by a promotion, and still naming the shard.
    rewrite_json(job.node(1, 42) + "/manifest.json", "\"safe_point\": 42", "\"safe_point\": 43");
  });
  const auto audit = audit_stores(stores, {});
  ASSERT_TRUE(audit);
  EXPECT_EQ(audit->count(Finding::State::damaged), 1U);
}

// HDF5 ends the process on some of these, so it must not see them.
TEST(Audit, finds_a_byte_of_the_master_file_that_changed_before_hdf5_does) {
  const SampleJob job;
  job.add_snapshot(42, {LevelId::local, LevelId::global});
  const JobStores stores = open_all(job);
  const std::string master = job.global_snapshot(42) + "/checkpoint.h5";
  for (std::uint64_t at = 0; at < 2048; at += 3) {
    flip_byte(master, at);
    const auto audit = audit_stores(stores, {});
    ASSERT_TRUE(audit);
    ASSERT_EQ(audit->count(Finding::State::damaged), 1U) << at;
    flip_byte(master, at);
  }
  std::ofstream(master, std::ios::app) << "more";
  EXPECT_EQ(audit_stores(stores, {})->count(Finding::State::damaged), 1U);
}

// The same of a node's file, as far as it is not data; what is data has digests block by block.
TEST(Audit, finds_a_bit_of_a_node_file_that_changed_before_hdf5_does) {
  const SampleJob job;
  job.add_snapshot(42, {LevelId::local, LevelId::global});
  const JobStores stores = open_all(job);
  const std::string file = job.global_snapshot(42) + "/node0001.h5";
  const std::uint64_t size = fs::file_size(file);
  std::uint64_t tried = 0;
  for (std::uint64_t at = 0; at < size; at += at < 4096 ? 11 : 997, ++tried) {
    flip_byte(file, at);
    const auto audit = audit_stores(stores, {});
    ASSERT_TRUE(audit);
    ASSERT_EQ(audit->count(Finding::State::damaged), 1U) << at;
    flip_byte(file, at);
  }
  EXPECT_GT(tried, 500U);
  EXPECT_EQ(bad(*audit_stores(stores, {})), 0U);
}

TEST(Audit, names_a_directory_where_a_file_should_be) {
  const SampleJob job;
  job.add_snapshot(42, kUpToErasure);
  const std::string manifest = job.node(2, 42) + "/manifest.json";
  const std::set<std::string> files{job.shard(0, 42), job.copy(1, 42), job.parity(1, 0, 42), manifest};
  for (const std::string& file : files) {
    fs::remove(file);
    fs::create_directories(file + "/deeper");
  }
  const auto audit = audit_stores(open_all(job), {});
  ASSERT_TRUE(audit);
  EXPECT_EQ(audit->count(Finding::State::damaged), 4U);
  for (const Finding& finding : audit->snapshots.at(0).findings) {
    if (finding.state != Finding::State::damaged) continue;
    EXPECT_TRUE(files.contains(finding.where)) << finding.where;
    EXPECT_THAT(finding.what, Names({"directory"})) << finding.where;
  }
}

TEST(Audit, goes_on_beside_a_directory_that_cannot_be_listed) {
  const SampleJob job;
  for (const std::uint32_t version : {41U, 42U}) job.add_snapshot(version, kEveryLevel);
  for (const bool global : {false, true}) {
    JobStores stores = open_all(job);
    auto& store = global ? stores.global : stores.nodes[1];
    auto watched = std::make_shared<WatchedStore>(store, [](const std::string&) {});
    watched->unlisted = names::snapshot(Version{42}, kRun);
    store = watched;
    const auto audit = audit_stores(stores, {.version = {}, .progress = {}, .patience = {}});
    ASSERT_TRUE(audit) << audit.error().text();
    ASSERT_EQ(audit->snapshots.size(), 2U);
    EXPECT_TRUE(audit->snapshots[0].recovery.possible);
    EXPECT_GE(audit->snapshots[0].count(Finding::State::unreadable), 1U);
    EXPECT_EQ(audit->snapshots[1].count(Finding::State::damaged), 0U);
  }
}

TEST(Audit, finds_run_records_that_changed_places) {
  constexpr RunId kNext{7};
  const SampleJob job;
  job.add_snapshot(42, {LevelId::local});
  job.add_run({{2}, kNext, RunRecord::Parent::snapshot, sample_job_identity(42), true, false});
  EXPECT_EQ(bad(*audit_stores(open_all(job), {})), 0U);
  fs::rename(job.record({1}), job.root() + "/first");
  fs::rename(job.record({2}, kNext), job.record({1}));
  fs::rename(job.root() + "/first", job.record({2}, kNext));
  const auto audit = audit_stores(open_all(job), {});
  ASSERT_TRUE(audit);
  ASSERT_EQ(audit->others.size(), 2U);
  const auto name_of = [&](const std::string& record) { return fs::path(record).filename().string(); };
  EXPECT_EQ(audit->others[0].where, job.record({1}));
  EXPECT_THAT(audit->others[0].what, Names({name_of(job.record({2}, kNext))}));
  EXPECT_THAT(audit->others[1].what, Names({name_of(job.record({1}))}));
}

TEST(Audit, misses_the_run_record_of_each_life_that_took_a_snapshot) {
  const SampleJob job;
  for (const std::uint32_t version : {41U, 42U}) job.add_snapshot(version, {LevelId::local, LevelId::global});
  fs::remove(job.record({1}));
  for (const std::optional<Version> only : {std::optional<Version>(), std::optional(Version{42})}) {
    const auto audit = audit_stores(open_all(job), {.version = only, .progress = {}, .patience = {}});
    ASSERT_TRUE(audit);
    EXPECT_EQ(bad(*audit), 1U);
    ASSERT_EQ(audit->others.size(), 1U);
    EXPECT_EQ(audit->others[0].state, Finding::State::missing);
    EXPECT_EQ(audit->others[0].where, job.record({1}));
    EXPECT_THAT(audit->others[0].what, Names({"version 42"}));
  }
}

TEST(Audit, waits_for_the_record_of_a_life_that_has_just_begun) {
  const SampleJob job;
  job.add_snapshot(42, {LevelId::local});
  fs::rename(job.record({1}), job.root() + "/later");
  JobStores stores = open_all(job);
  int looks = 0;
  stores.nodes[0] = std::make_shared<WatchedStore>(stores.nodes[0], [&](const std::string& what) {
    if (what.empty() && ++looks == 2) fs::rename(job.root() + "/later", job.record({1}));
  });
  const auto audit = audit_stores(stores, {.version = {}, .progress = {}, .patience = std::chrono::hours(1)});
  ASSERT_TRUE(audit);
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(bad(*audit), 0U);
}

TEST(Audit, finds_a_change_of_any_number_in_a_manifest) {
  const SampleJob job;
  job.add_snapshot(42, {LevelId::local, LevelId::partner});
  const JobStores stores = open_all(job);
  replace_text(job.node(1, 42) + "/manifest.json", "\"safe_point\": 42", "\"safe_point\": 43");
  replace_text(job.node(2, 42) + "/manifest.json", "\"k\": ", "\"k\": 1");
  const auto audit = audit_stores(stores, {});
  ASSERT_TRUE(audit);
  EXPECT_EQ(audit->count(Finding::State::damaged), 2U);
}

TEST(Audit, waits_for_a_manifest_that_a_running_job_is_about_to_write) {
  const SampleJob job;
  job.add_snapshot(42, {LevelId::local});
  const std::string manifest = job.node(3, 42) + "/manifest.json";
  fs::rename(manifest, job.root() + "/later");
  JobStores stores = open_all(job);
  int looks = 0;
  stores.nodes[3] = std::make_shared<WatchedStore>(stores.nodes[3], [&](const std::string& what) {
    if (what.empty() && ++looks == 2) fs::rename(job.root() + "/later", manifest);
  });
  const auto audit = audit_stores(stores, {.version = {}, .progress = {}, .patience = std::chrono::hours(1)});
  ASSERT_TRUE(audit);
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(bad(*audit), 0U);
  EXPECT_TRUE(audit->snapshots.at(0).view.at(LevelId::local).complete());
}

TEST(Audit, does_not_call_a_node_missing_whose_manifest_came_while_others_were_read) {
  const SampleJob job;
  job.add_snapshot(42, {LevelId::local});
  const std::string manifest = job.node(3, 42) + "/manifest.json";
  fs::rename(manifest, job.root() + "/later");
  JobStores stores = open_all(job);
  stores.nodes[0] = std::make_shared<WatchedStore>(stores.nodes[0], [&](const std::string& what) {
    if (what.ends_with("rank000000.shard") && !fs::exists(manifest)) fs::rename(job.root() + "/later", manifest);
  });
  const auto audit = audit_stores(stores, {.version = {}, .progress = {}, .patience = {}});
  ASSERT_TRUE(audit);
  EXPECT_EQ(bad(*audit), 0U);
  EXPECT_EQ(audit->count(Finding::State::retired), 1U);
}

TEST(Audit, announces_as_many_bytes_as_it_reads_of_good_stores) {
  const SampleJob job;
  job.add_snapshot(42, {LevelId::local, LevelId::partner, LevelId::erasure, LevelId::global});
  std::uint64_t last = 0;
  std::uint64_t announced = 0;
  AuditOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GE(done, last);
    last = done;
    announced = total;
  };
  const auto audit = audit_stores(open_all(job), options);
  ASSERT_TRUE(audit);
  EXPECT_EQ(audit->bytes_read, announced);
  EXPECT_EQ(last, announced);
}

TEST(PosixStore, opened_for_reading_only_makes_nothing) {
  const TempDirectory directory("/tmp");
  EXPECT_EQ(PosixStore::open_existing(directory.path(), "heat").error().code, Code::not_found);
  EXPECT_EQ(PosixStore::open_existing(directory.path() + "/none", "heat").error().code, Code::not_found);
  EXPECT_TRUE(fs::is_empty(directory.path()));
  fs::create_directory(directory.path() + "/heat");
  ASSERT_TRUE(PosixStore::open_existing(directory.path(), "heat"));
  EXPECT_TRUE(fs::is_empty(directory.path() + "/heat"));
  fs::create_directory_symlink(directory.path() + "/heat", directory.path() + "/link");
  EXPECT_FALSE(PosixStore::open_existing(directory.path(), "link"));
}

}  // namespace
}  // namespace cairn::test
