#include "session/protected_file.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "level/strike.hpp"

namespace cairn {
namespace {

// Heads would look for another source of the shard.
Status of_own_file(Status status) {
  if (status || !is_of_source(status.error().code)) return status;
  Error error = std::move(status.error());
  error.code = Code::failed_elsewhere;
  return fail(std::move(error));
}

// Without a working directory, as the path was given.
std::string absolute(const std::string& path) {
  std::error_code none;
  const auto whole = std::filesystem::absolute(path, none);
  return none ? path : whole.lexically_normal().string();
}

}  // namespace

ProtectedFile::ProtectedFile(const std::string& path, Rank self)
    : path_(absolute(path)), tag_(fmt::format("{:06}", self.value)) {}

Status ProtectedFile::open() {
  auto file = posix::UserFile::open(path_);
  if (!file) return fail(file.error());
  file_ = std::move(*file);
  size_ = file_->size();
  return {};
}

Status ProtectedFile::read(std::uint64_t offset, MutableBytes into) const {
  auto read = file_->read(offset, into);
  return read && offset + into.size() == size_ ? file_->check_unchanged() : read;
}

void ProtectedFile::close() { file_.reset(); }

Status ProtectedFile::begin(std::uint64_t size_bytes, std::optional<std::uint32_t> mode) {
  forget();
  size_ = size_bytes;
  auto begun = posix::FileReplacement::begin(path_, tag_, size_bytes, mode);
  if (!begun) return of_own_file(fail(begun.error()));
  replacement_.emplace(std::move(*begun));
  return {};
}

// In whole blocks of the shard, so that each is read and checked once.
Status ProtectedFile::prepare(const ShardFile& shard, const PlacedRegion& region) {
  const std::uint64_t size = region.info.size_bytes();
  if (auto begun = begin(size, region.info.file_mode()); !begun) return begun;
  const std::uint64_t begin = region.offset - shard.header().data_offset;
  Buffer piece;
  for (std::uint64_t done = 0; done < size; done += piece.size()) {
    piece.resize(std::min(size - done, kBlockBytes - (begin + done) % kBlockBytes));
    const ShardFile::Part part{begin + done, piece};
    if (auto read = shard.read_parts({&part, 1}); !read) return read;
    if (auto added = of_own_file(replacement_->add(piece)); !added) return added;
  }
  return of_own_file(replacement_->finish());
}

MutableBytes ProtectedFile::use_memory(std::uint64_t size_bytes) {
  memory_.resize(size_bytes);
  size_ = size_bytes;
  return memory_;
}

Status ProtectedFile::prepare_from_memory() {
  Buffer memory = std::move(memory_);
  return begin(memory.size(), {}).and_then([&] { return of_own_file(replacement_->add(memory)); }).and_then([&] {
    return of_own_file(replacement_->finish());
  });
}

Status ProtectedFile::put_back() {
  if (!replacement_) return {};
  Status done = of_own_file(replacement_->apply());
  forget();
  return done;
}

void ProtectedFile::forget() {
  replacement_.reset();
  Buffer().swap(memory_);
}

}  // namespace cairn
