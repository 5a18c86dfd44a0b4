#include "session/scratch_file.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace cairn {
namespace {

constexpr const char* kWriteIt = "write the file before each snapshot; due() tells whether the next call takes one";

}  // namespace

ScratchFile::ScratchFile(const std::string& path, Rank self) : ProtectedFile(path, self) { remove(); }

ScratchFile::~ScratchFile() { (void)posix::remove_user_file(path()); }

Status ScratchFile::open() {
  std::error_code error;  // what cannot be read is not missing
  if (std::filesystem::symlink_status(path(), error).type() == std::filesystem::file_type::not_found)
    return fail(Error{Code::io, "has not been written for this snapshot", kWriteIt}.in_file(path()));
  if (auto opened = ProtectedFile::open(); !opened) return opened;
  read_ = file().stamp();
  if (!old_ || old_->stamp != *read_) return {};
  return fail(Error{Code::io, "has not been written since " + old_->why, kWriteIt}.in_file(path()));
}

void ScratchFile::end_snapshot() { remove(); }

void ScratchFile::remove() {
  old_.reset();
  const auto removed = posix::remove_user_file(path());
  if (removed) return;
  const auto dated = posix::date_back(path());
  const auto stamp = dated ? std::optional(*dated) : read_;
  if (stamp) old_ = {*stamp, "it could not be removed: " + removed.error().text()};
}

Status ScratchFile::apply() {
  if (auto applied = ProtectedFile::apply(); !applied) return applied;
  auto stamp = posix::date_back(path());
  if (!stamp) return fail(stamp.error());
  old_ = {*stamp, "it was restored"};
  return {};
}

}  // namespace cairn
