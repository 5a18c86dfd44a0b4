// Reads the regions of a snapshot, by a program that takes no part in the job: from any level, as a restart would. What
// a lost node had comes from copies, or is computed from parity. Changes and locks no store, so a job may run
// meanwhile.
//
//   auto reader = SnapshotReader::open(stores, survey, view);
//   for (const RegionInfo& region : *reader->regions(Rank{3})) …
//   reader->read(Rank{3}, "plate", 0, into);
//
// Each block that is read is checked. If one is damaged, all files of the snapshot are read and checked once, and then
// only good ones are used. Local. One thread; refers to `stores` and `survey`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "format/checked_shard.hpp"
#include "format/shard.hpp"
#include "inspect/survey.hpp"

namespace cairn {

class SnapshotReader {
 public:
  // `progress`: as AuditOptions, where all files have to be checked; may be empty.
  using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;
  // Code::unrecoverable: ranks have no source. With `partial`, these ranks are left out; see missing().
  static Result<SnapshotReader> open(const JobStores& stores, const Survey& survey, const SnapshotView& snapshot,
                                     bool partial = false, Progress progress = {});
  // The same from the sources that an audit of these stores has found good. Ranks without one are left out.
  static SnapshotReader of_audited(const JobStores& stores, const Survey& survey, const SnapshotView& snapshot,
                                   const Recovery& recovery);

  // Ranks that have a source, ascending; and the others, with the reason.
  [[nodiscard]] const std::vector<Rank>& ranks() const { return ranks_; }
  [[nodiscard]] const std::vector<Rank>& missing() const { return missing_; }
  [[nodiscard]] const std::string& why_missing() const { return why_missing_; }
  // Of a rank that has a source.
  [[nodiscard]] Result<std::vector<RegionInfo>> regions(Rank rank);
  // Fills `into` with the bytes of a region from `offset` on. not_found: the rank has no such region.
  [[nodiscard]] Status read(Rank rank, std::string_view region, std::uint64_t offset, MutableBytes into);
  // The same of parts whose begins are offsets in the region. Requires: as ShardFile::read_parts(). Each block is
  // checked once.
  [[nodiscard]] Status read(Rank rank, std::string_view region, std::span<const ShardFile::Part> parts);
  // The shard of a rank that has a source, wherever it is. Its blocks are checked as they are read, with `sha` as
  // CheckedShard::open() says. The caller compares it with entry().
  [[nodiscard]] Result<CheckedShard> checked(Rank rank, bool sha) const;
  // What manifests say of the shard. Requires: checked() has found it.
  [[nodiscard]] const ShardEntry& entry(Rank rank) const { return entries_.at(rank); }
  // After an error of reading a shard: reads and checks all files once, and takes only good ones from then on. Whether
  // it has done so.
  [[nodiscard]] bool find_good_sources(const Error& error);
  // The ranks that are read from each level.
  [[nodiscard]] std::map<LevelId, std::vector<Rank>> sources() const;

 private:
  SnapshotReader(const JobStores& stores, const Survey& survey, const SnapshotView& snapshot, Progress progress);

  void take(const Recovery& recovery);
  [[nodiscard]] Error no_source(Rank rank) const;
  // The rank's shard. It stays open until another one is wanted.
  [[nodiscard]] Result<const Shard*> shard(Rank rank);
  [[nodiscard]] Result<Shard> open_shard(const Delivery& delivery);
  [[nodiscard]] Result<std::shared_ptr<const Reader>> bytes_of(const Delivery& delivery) const;
  [[nodiscard]] Result<std::shared_ptr<const Reader>> shared_bytes(Rank rank) const;
  [[nodiscard]] Status read_now(Rank rank, std::string_view region, std::span<const ShardFile::Part> parts);
  const JobStores* stores_;
  const Survey* survey_;
  SnapshotView snapshot_;
  Progress progress_;
  bool audited_ = false;
  std::map<Rank, ShardEntry> entries_;  // as manifests say
  std::map<Rank, Delivery> deliveries_;
  std::vector<Rank> ranks_;
  std::vector<Rank> missing_;
  std::string why_missing_;
  mutable std::map<NodeId, Status> node_files_;  // of the global store, as far as they were checked
  std::optional<Rank> open_rank_;
  std::optional<Shard> open_;
};

}  // namespace cairn
