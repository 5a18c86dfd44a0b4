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

VolumeMap::VolumeMap(const std::vector<VolumeFile>& files) {
  std::uint64_t start = 0;
  for (const VolumeFile& file : files) {
    starts_.push_back(start);
    start += file.bytes;
  }
  starts_.push_back(start);
}

std::size_t VolumeMap::file_at(std::uint64_t offset) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(starts_, offset) - starts_.begin()) - 1;
}

VolumeReader::VolumeReader(const Store& store, std::vector<VolumeFile> files)
    : store_(&store), files_(std::move(files)), map_(files_), readers_(files_.size()) {}

Result<Bytes> VolumeReader::read(std::uint64_t offset, std::uint64_t length, Buffer& scratch) {
  const std::size_t file = map_.file_at(offset);
  if (file < files_.size() && length <= map_.end_of(file) - offset) {
    auto bytes = reader_of(file).and_then(
        [&](const Reader* reader) { return view(*reader, offset - map_.start_of(file), length, scratch); });
    if (!bytes) return blame(file, bytes.error());
    return bytes;
  }
  scratch.resize(length);
  if (auto status = fill(offset, scratch); !status) return fail(status.error());
  return scratch;
}

Status VolumeReader::fill(std::uint64_t offset, MutableBytes into) {
  for (std::size_t file = map_.file_at(offset); !into.empty() && file < files_.size(); ++file) {
    const std::uint64_t length = std::min<std::uint64_t>(into.size(), map_.end_of(file) - offset);
    const Status status = reader_of(file).and_then(
        [&](const Reader* reader) { return reader->read(offset - map_.start_of(file), into.first(length)); });
    if (!status) return blame(file, status.error());
    into = into.subspan(length);
    offset += length;
  }
  std::ranges::fill(into, std::byte{0});
  return {};
}

tl::unexpected<Error> VolumeReader::blame(std::size_t file, const Error& error) {
  bad_ = files_[file].name;
  return fail(error);
}

Result<const Reader*> VolumeReader::reader_of(std::size_t file) {
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
  return reader.get();
}

VolumeWriter::VolumeWriter(Store& store, std::vector<VolumeFile> files, std::string owner)
    : store_(&store), files_(std::move(files)), owner_(std::move(owner)), writers_(files_.size()) {}

Status VolumeWriter::write(Bytes bytes) {
  while (!bytes.empty()) {
    if (file_ == files_.size())
      return fail_internal(Code::invalid_argument, "more bytes than the volume has files for");
    const VolumeFile& file = files_[file_];
    auto writer = writer_of(file_);
    if (!writer) return fail(writer.error());
    const std::uint64_t length = std::min<std::uint64_t>(bytes.size(), file.bytes - offset_);
    const MutableBytes mapping = (*writer)->mapping();
    if (mapping.empty() || mapping.data() + offset_ != bytes.data()) {
      if (auto status = (*writer)->write(offset_, bytes.first(length)); !status) return status;
    }
    bytes = bytes.subspan(length);
    offset_ += length;
    if (offset_ < file.bytes) continue;
    offset_ = 0;
    ++file_;
  }
  return {};
}

std::vector<PendingFile> VolumeWriter::take() {
  std::vector<PendingFile> taken;
  for (std::size_t file = 0; file < files_.size(); ++file)
    taken.push_back({std::move(writers_[file]), files_[file].bytes});
  return taken;
}

MutableBytes VolumeWriter::place(std::uint64_t offset, std::uint64_t length) {
  std::size_t file = 0;
  for (; file < files_.size() && offset >= files_[file].bytes; ++file) offset -= files_[file].bytes;
  if (file == files_.size() || length > files_[file].bytes - offset) return {};
  auto writer = writer_of(file);  // if it cannot be made, write() reports that
  if (!writer || (*writer)->mapping().empty()) return {};
  return (*writer)->mapping().subspan(offset, length);
}

Result<Writer*> VolumeWriter::writer_of(std::size_t file) {
  if (!writers_[file]) {
    auto created = store_->create(files_[file].name, files_[file].bytes, owner_);
    if (!created) return fail(created.error());
    writers_[file] = std::move(*created);
  }
  return writers_[file].get();
}

}  // namespace cairn
