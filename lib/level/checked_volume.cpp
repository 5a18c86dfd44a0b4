#include "level/checked_volume.hpp"

#include <algorithm>
#include <utility>

#include "level/level.hpp"
#include "store/names.hpp"

namespace cairn {

CheckedVolume::CheckedVolume(const Store& store, const DirName& dir, std::vector<ShardEntry> shards, bool sha)
    : CheckedVolume(dir, std::move(shards), [&store, dir, sha](const ShardEntry& shard) {
        return CheckedShard::open(store, names::shard(dir, shard.rank), sha);
      }) {}

CheckedVolume::CheckedVolume(const DirName& dir, std::vector<ShardEntry> shards, Open open)
    : find_(std::move(open)),
      files_(shard_files(dir, shards)),
      shards_(std::move(shards)),
      map_(files_),
      open_(files_.size()) {}

ReadAt CheckedVolume::stream(std::shared_ptr<CheckedVolume> volume, std::uint64_t start) {
  return [volume = std::move(volume), start, hand = std::make_shared<Hand>()](std::uint64_t offset,
                                                                              std::uint64_t length, Buffer& scratch) {
    return volume->read(start + offset, length, scratch, *hand);
  };
}

Result<Bytes> CheckedVolume::read(std::uint64_t offset, std::uint64_t length, Buffer& scratch, Hand& hand) {
  std::size_t file = map_.file_at(offset);
  if (file < files_.size() && length <= map_.end_of(file) - offset)
    return read_file(file, offset - map_.start_of(file), length, scratch, hand);
  scratch.assign(length, std::byte{0});
  Buffer piece;
  for (MutableBytes into(scratch); !into.empty() && file < files_.size(); ++file) {
    const std::uint64_t count = std::min<std::uint64_t>(into.size(), map_.end_of(file) - offset);
    const auto bytes = read_file(file, offset - map_.start_of(file), count, piece, hand);
    if (!bytes) return bytes;
    copy_bytes(*bytes, into);
    into = into.subspan(count);
    offset += count;
  }
  return scratch;
}

Result<Bytes> CheckedVolume::read_file(std::size_t file, std::uint64_t offset, std::uint64_t length, Buffer& scratch,
                                       Hand& hand) {
  auto shard = shard_of(file);
  if (!shard) return fail(shard.error());
  if (hand.file != file) hand = {file, {}};
  return (*shard)->read(offset, length, scratch, hand.block);
}

Result<CheckedShard*> CheckedVolume::shard_of(std::size_t file) {
  auto& open = open_[file];
  if (!open) {
    auto opened = find_(shards_[file]);
    if (!opened) return fail(opened.error());
    if (auto frame = opened->check_frame(shards_[file]); !frame) return fail(frame.error());
    open = std::move(*opened);
  }
  return &*open;
}

}  // namespace cairn
