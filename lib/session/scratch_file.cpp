#include "session/scratch_file.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace cairn {
namespace {

constexpr const char* kWriteIt = "write the file before each snapshot; due() tells whether the next call takes one";

}  // namespace

ScratchFile::ScratchFile(const std::string& path, Rank self) : ProtectedFile(path, self) {
  (void)posix::remove_user_file(path);
}

ScratchFile::~ScratchFile() { (void)posix::remove_user_file(path()); }

Status ScratchFile::open() {
  std::error_code error;  // what cannot be read is not missing
  if (std::filesystem::symlink_status(path(), error).type() == std::filesystem::file_type::not_found)
    return fail(Error{Code::io, "has not been written for this snapshot", kWriteIt}.in_file(path()));
  if (auto opened = ProtectedFile::open(); !opened) return opened;
  if (file().stamp() != restored_) return {};
  return fail(Error{Code::io, "has not been written since it was restored", kWriteIt}.in_file(path()));
}

void ScratchFile::end_snapshot() {
  restored_.reset();
  (void)posix::remove_user_file(path());
}

Status ScratchFile::apply() {
  if (auto applied = ProtectedFile::apply(); !applied) return applied;
  auto stamp = posix::date_back(path());
  if (!stamp) return fail(stamp.error());
  restored_ = *stamp;
  return {};
}

}  // namespace cairn
