#include "store/posix/posix_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/file_size_limit.hpp"

namespace cairn::posix {

namespace {

// Linux moves at most 2 GiB − 4 KiB in one call; smaller pieces also keep a signal from waiting long.
constexpr std::size_t kLargestCall = 1024 * kMiB;

Status answer_of(int answer, std::string_view doing, const std::string& path) {
  if (answer != 0) return fail(system_error(errno, doing, path));
  return {};
}

// Checks a file before it is written to.
Status check_writable(const struct stat& status, const std::string& path) {
  if (auto ours = check_user(status, path, Code::io, "remove it"); !ours) return ours;
  if (!has_other_names(status)) return {};
  return fail_in_file(Code::io, path, "has a second name (a hard link): writing to it may overwrite another file",
                      "remove the hard link");
}

// What file systems answer that lack an operation.
bool is_lacking(int number) { return number == EINVAL || number == ENOSYS || number == EOPNOTSUPP; }

}  // namespace

Fd::~Fd() {
  if (valid()) ::close(number_);
}

Fd::Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Error system_error(int number, std::string_view doing, const std::string& path) {
  const auto error = [&](Code code, std::string hint) {
    const std::string what = fmt::format("cannot {}: {}", doing, std::generic_category().message(number));
    return Error{code, what, std::move(hint)}.in_file(path);
  };
  switch (number) {
    case ENOENT: return error(Code::not_found, {});
    case ENOSPC:
    case EDQUOT: return error(Code::no_space, {});
    case EFBIG: return error(Code::io, "raise the limit on file sizes (ulimit -f)");
    case ELOOP: return error(Code::io, "Cairn does not follow symbolic links here; remove the link");
    case EACCES:
    case EPERM: return error(Code::io, "the directory must belong to you and be writable");
    case ENOSYS:
    case EOPNOTSUPP:
    case ENOLCK: return error(Code::io, "its file system lacks this; name a directory on another one in [storage]");
    default: return error(Code::io, {});
  }
}

Error missing_is_a_fault(Error error) {
  if (error.code != Code::not_found) return error;
  error.code = Code::io;
  error.hint = "another process removes the directory while the store is in use";
  return error;
}

Result<Fd> open_file(int directory, const std::string& name, int flags, const std::string& path) {
  constexpr mode_t kOwnerOnly = 0600;
  // O_NONBLOCK: if somebody put a pipe here, open() must not wait for its other end.
  const int all_flags = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Fd file(uninterrupted([&] { return ::openat(directory, name.c_str(), all_flags, kOwnerOnly); }));
  if (!file.valid()) return fail(system_error(errno, "open", path));

  const auto status = status_of(file.get(), path);
  if (!status) return fail(status.error());
  if (S_ISDIR(status->st_mode)) return fail_in_file(Code::corrupt, path, "is a directory, should be a file");
  if (!S_ISREG(status->st_mode)) return fail_in_file(Code::corrupt, path, "should be a regular file");
  if ((flags & O_ACCMODE) != O_RDONLY) {
    if (auto ours = check_writable(*status, path); !ours) return fail(ours.error());
  }
  return file;
}

Result<Fd> open_directory(int directory, const std::string& name, const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd opened(uninterrupted([&] { return ::openat(directory, name.c_str(), kFlags); }));
  if (opened.valid()) return opened;
  const int number = errno;
  if (number == ENOTDIR || number == ELOOP) {
    return fail_in_file(Code::io, path, "should be a directory, not a file or symbolic link",
                        "remove it, or choose another place");
  }
  return fail(system_error(number, "open the directory", path));
}

Status make_directory(int directory, const std::string& name, const std::string& path) {
  if (uninterrupted([&] { return ::mkdirat(directory, name.c_str(), 0700); }) == 0 || errno == EEXIST) return {};
  return fail(system_error(errno, "make the directory", path));
}

Result<struct stat> status_of(int file, const std::string& path) {
  struct stat status = {};
  if (uninterrupted([&] { return ::fstat(file, &status); }) != 0) return fail(system_error(errno, "stat", path));
  return status;
}

Status admit(Readers readers, int file, const std::string& path) {
  const auto status = status_of(file, path);
  if (!status) return fail(status.error());
  const bool directory = S_ISDIR(status->st_mode);
  const mode_t alone = directory ? 0700 : 0600;
  const mode_t mode = readers == Readers::owner ? alone : directory ? 02750 : 0640;
  if ((status->st_mode & 07777U) == mode) return {};
  if (uninterrupted([&] { return ::fchmod(file, mode); }) == 0) return {};
  return fail(system_error(errno, "set the permissions of", path));
}

Status check_user(const struct stat& status, const std::string& path, Code code, std::string hint) {
  if (status.st_uid == ::geteuid()) return {};
  return fail(code, fmt::format("{}: belongs to user {}, should belong to user {}", path, status.st_uid, ::geteuid()),
              std::move(hint));
}

bool is_removed(int directory) {
  const auto status = status_of(directory, {});
  return status && status->st_nlink == 0;
}

bool has_other_names(const struct stat& file) { return file.st_nlink > 1; }

std::optional<struct stat> status_at(int directory, const std::string& name) {
  struct stat status = {};
  const int answer = uninterrupted([&] { return ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW); });
  return answer == 0 ? std::optional(status) : std::nullopt;
}

Status write_all(int file, std::uint64_t offset, Bytes bytes, const std::string& path) {
  const FileSizeLimit limit;
  while (!bytes.empty()) {
    const std::size_t wanted = std::min(bytes.size(), kLargestCall);
    const ssize_t moved =
        uninterrupted([&] { return ::pwrite(file, bytes.data(), wanted, static_cast<off_t>(offset)); });
    if (moved < 0) return fail(system_error(errno, fmt::format("write {} bytes at {}", wanted, offset), path));
    if (moved == 0) return fail_in_file(Code::io, path, fmt::format("wrote 0 of {} bytes at {}", wanted, offset));
    bytes = bytes.subspan(static_cast<std::size_t>(moved));
    offset += static_cast<std::uint64_t>(moved);
  }
  return {};
}

Status read_exactly(int file, std::uint64_t offset, MutableBytes into, const std::string& path) {
  while (!into.empty()) {
    const std::size_t wanted = std::min(into.size(), kLargestCall);
    const ssize_t moved = uninterrupted([&] { return ::pread(file, into.data(), wanted, static_cast<off_t>(offset)); });
    if (moved < 0) return fail(system_error(errno, fmt::format("read {} bytes at {}", wanted, offset), path));
    if (moved == 0) {
      return fail_in_file(Code::corrupt, path,
                          fmt::format("ends at or before byte {}; {} more bytes were wanted", offset, into.size()));
    }
    into = into.subspan(static_cast<std::size_t>(moved));
    offset += static_cast<std::uint64_t>(moved);
  }
  return {};
}

Status reserve(int file, std::uint64_t size_bytes, const std::string& path) {
  constexpr std::uint64_t kStatBlock = 512;
  const auto status = status_of(file, path);
  if (!status) return fail(status.error());

  const auto length = static_cast<std::uint64_t>(status->st_size);
  const auto allocated = static_cast<std::uint64_t>(status->st_blocks) * kStatBlock;
  // If a file has all its pages already, reserving it again takes milliseconds, because the kernel looks at each page.
  if (length >= size_bytes && allocated >= length) return {};
  if (size_bytes == 0) return {};

  const FileSizeLimit limit;
  const auto size = static_cast<off_t>(size_bytes);
  if (uninterrupted([&] { return ::fallocate(file, 0, 0, size); }) == 0) return {};
  if (!is_lacking(errno)) {
    return fail(system_error(errno, fmt::format("reserve {} bytes", size_bytes), path));
  }
  return length >= size_bytes ? Status{} : truncate(file, size_bytes, path);
}

Status truncate(int file, std::uint64_t size_bytes, const std::string& path) {
  const FileSizeLimit limit;
  const int answer = uninterrupted([&] { return ::ftruncate(file, static_cast<off_t>(size_bytes)); });
  return answer_of(answer, fmt::format("set the length to {}", size_bytes), path);
}

void start_writeback(int file, std::uint64_t offset, std::uint64_t size_bytes) {
  (void)uninterrupted([&] {
    return ::sync_file_range(file, static_cast<off_t>(offset), static_cast<off_t>(size_bytes), SYNC_FILE_RANGE_WRITE);
  });
}

Status sync_data(int file, const std::string& path) {
  return answer_of(uninterrupted([&] { return ::fdatasync(file); }), "sync", path);
}

Status sync_directory(int directory, const std::string& path) {
  const auto sync = [&](auto&& call) { return uninterrupted([&] { return call(directory); }); };
  int answer = sync(::fsync);
  // File systems that sync no directory, such as some of FUSE and Ceph, can sync all that they have.
  if (answer != 0 && is_lacking(errno)) answer = sync(::syncfs);
  return answer_of(answer, "sync the directory", path);
}

Status rename(int from_directory, const std::string& from, int to_directory, const std::string& to,
              const std::string& path) {
  const auto call = [&] { return ::renameat(from_directory, from.c_str(), to_directory, to.c_str()); };
  return answer_of(uninterrupted(call), "rename", path);
}

Result<bool> rename_new(int from_directory, const std::string& from, int to_directory, const std::string& to,
                        const std::string& path) {
  const auto call = [&] {
    return ::renameat2(from_directory, from.c_str(), to_directory, to.c_str(), RENAME_NOREPLACE);
  };
  if (uninterrupted(call) == 0) return true;
  if (errno == EEXIST || is_lacking(errno)) return false;
  return fail(system_error(errno, "rename", path));
}

bool try_lock_shared(int file) {
  return uninterrupted([&] { return ::flock(file, LOCK_SH | LOCK_NB); }) == 0;
}

bool try_lock_exclusive(int file) {
  return uninterrupted([&] { return ::flock(file, LOCK_EX | LOCK_NB); }) == 0;
}

void unlock(int file) {
  (void)uninterrupted([&] { return ::flock(file, LOCK_UN); });
}

Result<std::uint64_t> free_bytes(int directory, const std::string& path) {
  struct statvfs status = {};
  const int answer = uninterrupted([&] { return ::fstatvfs(directory, &status); });
  if (answer != 0) return fail(system_error(errno, "ask for free space", path));
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

bool has_no_free_inodes(int directory) {
  struct statvfs status = {};
  if (uninterrupted([&] { return ::fstatvfs(directory, &status); }) != 0) return false;
  return status.f_files > 0 && status.f_favail == 0;
}

}  // namespace cairn::posix
