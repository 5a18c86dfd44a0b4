#include "session/protected_file.hpp"

#include <utility>

#include <fmt/format.h>

namespace cairn {

std::string tag_of(Rank self) { return fmt::format("{:06}", self.value); }

ProtectedFile::ProtectedFile(const std::string& path, Rank self) : path_(absolute_path(path)), tag_(tag_of(self)) {}

std::string ProtectedFile::text(const std::string& region) const { return fmt::format("file \"{}\"", region); }

Status ProtectedFile::open() {
  auto file = posix::UserFile::open(path_);
  if (!file) return fail(file.error());
  file_ = std::move(*file);
  size_ = file_->size();
  return {};
}

Status ProtectedFile::read(std::uint64_t offset, MutableBytes into) {
  auto read = file_->read(offset, into);
  return read && offset + into.size() == size_ ? file_->check_unchanged() : read;
}

std::string ProtectedFile::type_name() const { return fmt::format("{} {:03o}", kFileType, file_->mode()); }

Status ProtectedFile::begin(std::uint64_t size_bytes, const RegionInfo* stored) {
  auto begun =
      posix::FileReplacement::begin(path_, tag_, size_bytes, stored == nullptr ? std::nullopt : stored->file_mode());
  if (!begun) return fail(begun.error());
  replacement_.emplace(std::move(*begun));
  return {};
}

}  // namespace cairn
