#include "sample_job.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "level/level.hpp"
#include "recover/chain.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/sample_manifest.hpp"
#include "support/thread_cluster.hpp"
#include "support/write_shard.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kRows = 3000;

void write_rank(Store& store, const Identity& identity, Rank rank, BlockDigest digest) {
  std::vector<double> plate(kRows * 4);
  for (std::size_t i = 0; i < plate.size(); ++i)
    plate[i] = static_cast<double>(i * (rank.value + 1) + identity.version.value);
  const std::int32_t step = static_cast<std::int32_t>(identity.version.value);
  const std::vector<RegionData> regions{
      {{"plate", ElementType::float64, 8, "", {kRows, 4}, {kRows * kNodes * kRanksPerNode, 4}, {kRows * rank.value, 0}},
       std::as_bytes(std::span(plate))},
      {{"step", ElementType::int32, 4, "", {}, {}, {}}, std::as_bytes(std::span(&step, 1))}};
  const ShardIdentity who{identity, identity.version.value, rank, kNodes * kRanksPerNode};
  const auto name = names::shard(names::snapshot(identity), rank);
  ASSERT_TRUE(write_shard(store, name, who, regions, digest));
}

void take_snapshot(Comm& heads, const std::string& local, const std::string& global, const std::string& job,
                   const Identity& identity, const std::vector<LevelId>& levels, const Layout& layout,
                   BlockDigest digest, const SnapshotNotes& notes) {
  NodeContext node;
  node.me = NodeId{heads.rank().value};
  node.layout = layout;
  node.incarnation = identity.incarnation;
  node.run = identity.run;
  auto store = PosixStore::open(local + "/" + names::node_directory(node.me), job);
  ASSERT_TRUE(store) << store.error().text();
  node.local = *store;
  store = PosixStore::open(global, job);
  ASSERT_TRUE(store) << store.error().text();
  node.global = *store;
  for (const Rank rank : node.layout.ranks_on(node.me)) write_rank(*node.local, identity, rank, digest);

  NodeManifest manifest{identity, identity.version.value, {}, notes};
  for (const LevelId level : levels) {
    const auto done = make_level(level)->protect(heads, node, manifest, 0);
    ASSERT_TRUE(done) << done.error().text();
    ASSERT_TRUE(write_manifest(*node.local, manifest, {}));
  }
}

std::string dir_name(std::uint32_t version) { return names::snapshot(Version{version}, kRun).path; }

}  // namespace

Layout sample_job_layout(const std::vector<NodeId>& avoided) {
  Layout layout;
  layout.nodes = kNodes;
  for (std::uint32_t rank = 0; rank < kNodes * kRanksPerNode; ++rank)
    layout.node_of_rank.push_back({rank / kRanksPerNode});
  layout.copies = 1;
  layout.groups = {{{0}, {1}, {2}, {3}}};
  layout.parity = 2;
  layout.avoided = avoided;
  auto& members = layout.groups.front();
  std::stable_partition(members.begin(), members.end(), [&](NodeId node) { return !layout.avoids(node); });
  return layout;
}

Identity sample_job_identity(std::uint32_t version) { return {{1}, {version}, kRun}; }

void SampleJob::add_three_snapshots() const {
  add_snapshot(40, kEveryLevel);
  add_snapshot(41, kUpToErasure);
  add_snapshot(42, {LevelId::local});
}

void SampleJob::add_snapshot(std::uint32_t version, const std::vector<LevelId>& levels, const std::string& job) const {
  add_run({{1}, kRun, RunRecord::Parent::fresh, {}, true, false}, job);
  run_cluster(kNodes, [&](Comm& heads) {
    take_snapshot(heads, local(), global(), job, sample_job_identity(version), levels, sample_job_layout(avoided_),
                  digest_, notes_);
  });
}

void SampleJob::add_run(const RunRecord& record, const std::string& job) const {
  auto store = PosixStore::open(global(), job);
  ASSERT_TRUE(store);
  ASSERT_TRUE(write_run_record(**store, record, {}));
}

std::string SampleJob::record(Incarnation incarnation, RunId run) const {
  return global() + "/heat/" + names::run_record(incarnation, run).path;
}

std::string SampleJob::node(std::uint32_t node, std::uint32_t version, const std::string& job) const {
  return local() + "/" + names::node_directory(NodeId{node}) + "/" + job + "/" + dir_name(version);
}

std::string SampleJob::global_snapshot(std::uint32_t version) const { return global() + "/heat/" + dir_name(version); }

std::string SampleJob::shard(std::uint32_t rank, std::uint32_t version) const {
  return node(rank / kRanksPerNode, version) + "/" + names::shard({}, Rank{rank}).path;
}

std::string SampleJob::copy(std::uint32_t rank, std::uint32_t version) const {
  const NodeId owner{rank / kRanksPerNode};
  const auto name = names::copy({}, {owner, Rank{rank}, sample_job_layout().id()});
  return node((owner.value + 1) % kNodes, version) + "/" + name.path;
}

std::string SampleJob::parity(std::uint32_t node, std::uint32_t row, std::uint32_t version) const {
  const ErasureShape shape{kNodes, sample_job_layout().parity};
  const auto name = names::parity({}, {shape.column_of_parity(node, row), row, sample_job_layout().id()});
  return this->node(node, version) + "/" + name.path;
}

void SampleJob::lose_node(std::uint32_t node) const {
  fs::remove_all(local() + "/" + names::node_directory(NodeId{node}));
}

void flip_byte(const std::string& file, std::uint64_t offset) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(offset));
  const int byte = stream.get();
  ASSERT_TRUE(stream.good()) << file;
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.put(static_cast<char>(byte ^ 0x10));
  ASSERT_TRUE(stream.good()) << file;
}

void flip_middle_byte(const std::string& file) { flip_byte(file, fs::file_size(file) / 2); }

void cut(const std::string& file, std::uint64_t bytes) { fs::resize_file(file, bytes); }

void replace_text(const std::string& file, const std::string& from, const std::string& to) {
  std::ifstream in(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto at = text.find(from);
  ASSERT_NE(at, std::string::npos) << file << " has no " << from;
  text.replace(at, from.size(), to);
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

void rewrite_json(const std::string& file, const std::string& from, const std::string& to) {
  replace_text(file, from, to);
  change_json(file, sealed_again);
}

void change_json(const std::string& file, const std::function<std::string(const std::string&)>& change) {
  std::ifstream in(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  std::ofstream(file, std::ios::binary | std::ios::trunc) << change(text);
}

}  // namespace cairn::test
