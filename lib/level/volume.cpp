#include "level/volume.hpp"

#include <algorithm>
#include <utility>

namespace cairn {

std::uint64_t volume_bytes(const std::vector<VolumeFile>& files) {
  std::uint64_t bytes = 0;
  for (const VolumeFile& file : files) bytes += file.bytes;
  return bytes;
}

std::uint64_t volume_bytes(const std::vector<ShardEntry>& shards) {
  std::uint64_t bytes = 0;
  for (const ShardEntry& shard : shards) bytes += shard.bytes;
  return bytes;
}

VolumeReader::VolumeReader(const Store& store, std::vector<VolumeFile> files)
    : store_(&store), files_(std::move(files)), readers_(files_.size()) {
  std::uint64_t start = 0;
  for (const VolumeFile& file : files_) {
    starts_.push_back(start);
    start += file.bytes;
  }
  starts_.push_back(start);
}

Status VolumeReader::read(std::uint64_t offset, MutableBytes into) {
  auto file = static_cast<std::size_t>(std::ranges::upper_bound(starts_, offset) - starts_.begin()) - 1;
  while (!into.empty() && file < files_.size()) {
    const std::uint64_t length = std::min<std::uint64_t>(into.size(), starts_[file + 1] - offset);
    if (auto status = read_from(file, offset - starts_[file], into.first(length)); !status) return status;
    into = into.subspan(length);
    offset += length;
    ++file;
  }
  std::ranges::fill(into, std::byte{0});
  return {};
}

Status VolumeReader::read_from(std::size_t file, std::uint64_t offset, MutableBytes into) {
  auto& reader = readers_[file];
  if (!reader) {
    auto opened = store_->open(files_[file].name);
    if (!opened) return fail(opened.error());
    if ((*opened)->size_bytes() != files_[file].bytes) {
      return fail(Code::corrupt, files_[file].name.path + " in " + store_->where() + " has " +
                                     std::to_string((*opened)->size_bytes()) + " bytes, should have " +
                                     std::to_string(files_[file].bytes));
    }
    reader = std::move(*opened);
  }
  return reader->read(offset, into);
}

VolumeWriter::VolumeWriter(Store& store, std::vector<VolumeFile> files, std::string owner, bool sync)
    : store_(&store), files_(std::move(files)), owner_(std::move(owner)), sync_(sync) {}

Status VolumeWriter::write(Bytes bytes) {
  while (!bytes.empty()) {
    if (file_ == files_.size()) return fail(Code::invalid_argument, "more bytes than the volume has files for");
    const VolumeFile& file = files_[file_];
    if (!writer_) {
      auto created = store_->create(file.name, file.bytes, owner_);
      if (!created) return fail(created.error());
      writer_ = std::move(*created);
    }
    const std::uint64_t length = std::min<std::uint64_t>(bytes.size(), file.bytes - offset_);
    if (auto status = writer_->write(offset_, bytes.first(length)); !status) return status;
    bytes = bytes.subspan(length);
    offset_ += length;
    if (offset_ < file.bytes) continue;
    if (auto status = writer_->commit(file.bytes, sync_); !status) return status;
    writer_.reset();
    offset_ = 0;
    ++file_;
  }
  return {};
}

}  // namespace cairn
