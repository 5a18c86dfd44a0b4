#include "session/offered_shards.hpp"

#include <algorithm>
#include <utility>

#include "level/strike.hpp"
#include "store/names.hpp"

namespace cairn {

FileName file_of(const Offer& offer, const OfferedShard& shard) {
  return names::shard(shard.aside ? names::brought() : names::snapshot(offer.snapshot), shard.rank);
}

Result<ShardFile> open_offered(const Store& store, const Offer& offer, const OfferedShard& shard) {
  const FileName name = file_of(offer, shard);
  auto file = ShardFile::open(store, name);
  if (!file) return file;
  const ShardHeader& header = file->header();
  if (header.identity != offer.snapshot || header.rank != shard.rank || header.ranks != offer.old_ranks)
    return fail(Code::corrupt, name.path + " is of another snapshot or rank");
  return file;
}

Result<ShardFile> open_own(const Store& store, const Offer& offer, Rank rank) {
  const auto mine = std::ranges::find(offer.shards, rank, &OfferedShard::rank);
  return open_offered(store, offer, mine == offer.shards.end() ? OfferedShard{rank, false} : *mine);
}

std::optional<LevelId> highest_needed(const Offer& offer) {
  std::optional<LevelId> highest;
  if (offer.fresh) return highest;
  for (std::size_t i = 0; i < std::min(offer.ranks_from.size(), std::size(kAllLevels)); ++i)
    if (offer.ranks_from[i] > 0) highest = kAllLevels[i];
  return highest;
}

OfferedShards::OfferedShards(const Store& store, const Offer& offer) : store_(store), offer_(offer) {
  for (const OfferedShard& offered : offer.shards) {
    auto file = open_offered(store_, offer_, offered);
    if (file)
      files_.push_back(*std::move(file));
    else
      note_damaged(offered.rank, file.error());
  }
}

const std::vector<Shard>& OfferedShards::shards() {
  if (shards_) return *shards_;
  shards_.emplace();
  for (const ShardFile& file : files_) {
    auto shard = Shard::of(file);
    if (shard)
      shards_->push_back(*std::move(shard));
    else
      note_damaged(file.header().rank, shard.error());
  }
  return *shards_;
}

std::vector<reshape::OldRank> OfferedShards::old_ranks() {
  std::vector<reshape::OldRank> old;
  for (const Shard& shard : shards()) old.push_back(old_rank(shard));
  return old;
}

reshape::OldRank OfferedShards::old_rank(const Shard& shard) {
  reshape::OldRank old;
  old.rank = shard.header().rank;
  for (const PlacedRegion& region : shard.regions()) old.regions.push_back(region.info);
  old.read = [this, &shard](std::size_t region, std::span<const reshape::Run> runs) -> Status {
    auto read = shard.read_region(region, runs);
    if (!read) note_damaged(shard.header().rank, read.error());
    return read;
  };
  return old;
}

const reshape::OldRank* OfferedShards::reach(Rank rank) {
  if (const auto open = beside_.find(rank); open != beside_.end()) return &open->second.old;
  const auto offered = std::ranges::find(offer_.beside, rank, &OfferedShard::rank);
  if (offered == offer_.beside.end()) return nullptr;
  auto shard =
      open_offered(store_, offer_, *offered).and_then([](ShardFile file) { return Shard::of(std::move(file)); });
  if (!shard) return nullptr;
  Beside& beside = beside_.emplace(rank, Beside{*std::move(shard), {}}).first->second;
  beside.old = old_rank(beside.shard);
  return &beside.old;
}

void OfferedShards::check_all() {
  for (const ShardFile& shard : files_) {
    if (auto whole = check_blocks(shard); !whole)
      note_damaged(shard.header().rank, whole.error().in_file(shard.name()));
  }
}

RestoreResult OfferedShards::refused() const {
  RestoreResult result{damaged_.begin()->second, {}, {}};
  for (const auto& [rank, error] : damaged_) result.damaged.push_back(rank);
  return result;
}

void OfferedShards::note_damaged(Rank rank, const Error& error) { damaged_.try_emplace(rank, error); }

}  // namespace cairn
