#include "inspect/snapshot_reader.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "format/hdf5/hdf5_shard_reader.hpp"
#include "format/hdf5/node_file_check.hpp"
#include "format/shard_codec.hpp"
#include "inspect/audit.hpp"
#include "inspect/decoded_shard.hpp"
#include "level/global_snapshot.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// Whether these are the bytes that were digested, as far as reads of blocks do not check them: with a key, a CRC-32C is
// no proof, so that all blocks are read.
Status check_shard(const Shard& shard, const ShardEntry& expected) {
  if (shard.header().digest == BlockDigest::sha256) {
    Workers alone(0);
    return verify_shard(shard, expected, alone, {});
  }
  const auto frame = shard.frame();
  if (!frame) return fail(frame.error());
  if (const Sha256 is = sha256(*frame); is != expected.digest)
    return fail(wrong_digest(is, expected.digest).in_file(shard.name()));
  return {};
}

Error no_entry(Rank rank) {
  return {Code::corrupt, fmt::format("no manifest names the shard of rank {}", rank.value), {}};
}

}  // namespace

SnapshotReader::SnapshotReader(const JobStores& stores, const Survey& survey, const SnapshotView& snapshot,
                               Progress progress)
    : stores_(&stores),
      survey_(&survey),
      snapshot_(snapshot),
      progress_(std::move(progress)),
      entries_(entries_of(survey, snapshot.identity)) {}

Result<SnapshotReader> SnapshotReader::open(const JobStores& stores, const Survey& survey, const SnapshotView& snapshot,
                                            bool partial, Progress progress) {
  SnapshotReader reader(stores, survey, snapshot, std::move(progress));
  reader.take(plan_recovery(survey, snapshot));
  if (!reader.missing_.empty() && !partial) {
    return fail(Code::unrecoverable,
                fmt::format("version {}: {}", snapshot.identity.version.value, reader.why_missing_),
                "name the stores of these nodes with --local");
  }
  return reader;
}

SnapshotReader SnapshotReader::of_audited(const JobStores& stores, const Survey& survey, const SnapshotView& snapshot,
                                          const Recovery& recovery) {
  SnapshotReader reader(stores, survey, snapshot, {});
  reader.audited_ = true;
  reader.take(recovery);
  return reader;
}

void SnapshotReader::take(const Recovery& recovery) {
  deliveries_.clear();
  ranks_.clear();
  missing_.clear();
  open_.reset();
  open_rank_.reset();
  for (const Delivery& delivery : recovery.sources) deliveries_.emplace(delivery.rank, delivery);
  for (std::uint32_t rank = 0; rank < snapshot_.layout.node_of_rank.size(); ++rank)
    (deliveries_.contains(Rank{rank}) ? ranks_ : missing_).push_back(Rank{rank});
  why_missing_ = recovery.why_not;
}

Error SnapshotReader::no_source(Rank rank) const {
  return {Code::not_found, fmt::format("rank {} has no source: {}", rank.value, why_missing_), {}};
}

std::map<LevelId, std::vector<Rank>> SnapshotReader::sources() const {
  std::map<LevelId, std::vector<Rank>> ranks;
  for (const auto& [rank, delivery] : deliveries_) ranks[delivery.level].push_back(rank);
  return ranks;
}

Result<std::vector<RegionInfo>> SnapshotReader::regions(Rank rank) {
  auto opened = shard(rank);
  if (!opened && find_good_sources(opened.error()) && deliveries_.contains(rank)) opened = shard(rank);
  if (!opened) return fail(opened.error());
  std::vector<RegionInfo> infos;
  for (const PlacedRegion& region : (*opened)->regions()) infos.push_back(region.info);
  return infos;
}

Status SnapshotReader::read(Rank rank, std::string_view region, std::uint64_t offset, MutableBytes into) {
  if (into.empty()) return {};
  const ShardFile::Part part{offset, into};
  return read(rank, region, {&part, 1});
}

Status SnapshotReader::read(Rank rank, std::string_view region, std::span<const ShardFile::Part> parts) {
  const Status status = read_now(rank, region, parts);
  const bool again = !status && find_good_sources(status.error()) && deliveries_.contains(rank);
  return !again ? status : read_now(rank, region, parts);
}

Status SnapshotReader::read_now(Rank rank, std::string_view region, std::span<const ShardFile::Part> parts) {
  if (parts.empty()) return {};
  const auto opened = shard(rank);
  if (!opened) return fail(opened.error());
  const auto position = (*opened)->find(region);
  if (!position) return fail(position.error());
  return (*opened)->read_region(*position, parts);
}

bool SnapshotReader::find_good_sources(const Error& error) {
  if (!is_of_source(error.code) || std::exchange(audited_, true)) return false;
  AuditOptions options;
  options.version = snapshot_.identity.version;
  options.progress = progress_;
  const auto audit = audit_stores(*stores_, options);
  if (!audit) return false;
  const auto found = std::ranges::find(audit->snapshots, snapshot_.identity,
                                       [](const SnapshotAudit& one) { return one.view.identity; });
  if (found == audit->snapshots.end()) return false;
  take(found->recovery);
  return true;
}

Result<const Shard*> SnapshotReader::shard(Rank rank) {
  if (open_rank_ == rank) return &*open_;
  const auto delivery = deliveries_.find(rank);
  if (delivery == deliveries_.end()) return fail(no_source(rank));
  auto opened = open_shard(delivery->second);
  if (!opened) return fail(opened.error());
  open_ = std::move(*opened);
  open_rank_ = rank;
  return &*open_;
}

Result<Shard> SnapshotReader::open_shard(const Delivery& delivery) {
  const auto bytes = bytes_of(delivery);
  if (!bytes) return fail(bytes.error());
  auto opened = Shard::open(*bytes, names::shard(names::snapshot(snapshot_.identity), delivery.rank));
  if (!opened) return opened;
  const auto entry = entries_.find(delivery.rank);
  if (entry == entries_.end()) return fail(no_entry(delivery.rank));
  if (auto good = check_shard(*opened, entry->second); !good) return fail(good.error());
  return opened;
}

Result<CheckedShard> SnapshotReader::checked(Rank rank, bool sha) const {
  const auto delivery = deliveries_.find(rank);
  if (delivery == deliveries_.end()) return fail(no_source(rank));
  auto bytes = bytes_of(delivery->second);
  if (!bytes) return fail(bytes.error());
  if (!entries_.contains(rank)) return fail(no_entry(rank));
  return CheckedShard::open(std::move(*bytes), names::shard(names::snapshot(snapshot_.identity), rank), sha);
}

Result<std::shared_ptr<const Reader>> SnapshotReader::bytes_of(const Delivery& delivery) const {
  if (std::holds_alternative<SharedShard>(delivery.source)) return shared_bytes(delivery.rank);
  if (std::holds_alternative<DecodedShard>(delivery.source))
    return open_decoded_shard(*stores_, *survey_, snapshot_.identity, delivery);
  auto file = stores_->at(StoreId::node(*delivery.holder())).open(*delivery.file(names::snapshot(snapshot_.identity)));
  if (!file) return fail(file.error());
  return std::shared_ptr<const Reader>(std::move(*file));
}

// HDF5 may end the process if metadata is damaged, so each node file is checked before it is opened.
Result<std::shared_ptr<const Reader>> SnapshotReader::shared_bytes(Rank rank) const {
  for (const auto& [level, there] : survey_->shared_of(snapshot_.identity)) {
    const auto* shared = dynamic_cast<const GlobalSnapshot*>(there.get());
    if (shared == nullptr) continue;
    const GlobalManifest& manifest = shared->manifest();
    const Store& store = stores_->at(*survey_->inventory.levels.at(level).traits().shared_store);
    const NodeId node = manifest.layout.node_of_rank.at(rank.value);
    const FileName file = names::node_file(names::snapshot(snapshot_.identity), node);
    if (!manifest.node_files.empty() && !node_files_.contains(node)) {
      node_files_.emplace(node, check_node_file(store, file, manifest.node_file_bytes[node.value],
                                                manifest.node_files[node.value], {}));
    }
    if (const auto known = node_files_.find(node); known != node_files_.end() && !known->second)
      return fail(known->second.error());
    return open_node_shard(store, file, manifest.shards.at(rank.value));
  }
  return fail(Code::not_found, fmt::format("no shared store has the shard of rank {}", rank.value));
}

}  // namespace cairn
