#include "store/posix/user_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/sha256.hpp"

namespace cairn::posix {
namespace {

constexpr mode_t kPermissions = 0777;
constexpr std::uint64_t kHoleBytes = 4096;
constexpr const char* kMustExist = "the file has to exist at each snapshot, or be unprotected";

// Opens its directory, through links in the path, and gives its name there.
Result<Fd> directory_of(const std::string& path, std::string& name) {
  const std::filesystem::path whole(path);
  name = whole.filename().string();
  const std::string directory = whole.parent_path().empty() ? "." : whole.parent_path().string();
  if (name.empty() || name == "." || name == "..")
    return fail_in_file(Code::io, path, "is not the path of a file", "name a file, not a directory");
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  Fd opened(uninterrupted([&] { return ::open(directory.c_str(), kFlags); }));
  if (!opened.valid()) return fail(system_error(errno, "open the directory of", path));
  return opened;
}

Status check_regular(const struct stat& status, const std::string& path) {
  if (S_ISREG(status.st_mode)) return {};
  const char* const what = S_ISLNK(status.st_mode)   ? "is a symbolic link, which Cairn does not follow"
                           : S_ISDIR(status.st_mode) ? "is a directory"
                                                     : "is not a regular file";
  return fail_in_file(Code::io, path, what, "protect_file() is for regular files");
}

Status check_entry(int directory, const std::string& name, const std::string& path) {
  const auto status = status_at(directory, name);
  return status ? check_regular(*status, path) : Status{};
}

// No part of the storage is missing.
Error missing(Error error, const char* hint) {
  if (error.code != Code::not_found) return error;
  error.code = Code::io;
  error.hint = hint;
  return error;
}

FileStamp stamp_of(const struct stat& status) { return {status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec}; }

bool is_zero(Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::byte one) { return one == std::byte{0}; });
}

// Then the rest of the digest of the file's name.
constexpr std::string_view kTemporary = ".cairn-";
constexpr std::size_t kDigestLetters = 16;

}  // namespace

bool is_temporary_name(std::string_view name) {
  if (!name.starts_with(kTemporary) || name.size() < kTemporary.size() + kDigestLetters + 2) return false;
  const std::string_view digest = name.substr(name.size() - kDigestLetters);
  return name[name.size() - kDigestLetters - 1] == '-' &&
         digest.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Error has_changed(const std::string& path) {
  return Error{Code::io, "has changed while it was read", "write to it between snapshots only"}.in_file(path);
}

// The clock of a file system advances in steps of some milliseconds: a write right after this would not show otherwise.
Result<FileStamp> date_back(const std::string& path) {
  std::string name;
  const auto directory = directory_of(path, name);
  if (!directory) return fail(directory.error());
  const auto file = open_file(directory->get(), name, O_RDWR, path);
  if (!file) return fail(file.error());
  auto status = status_of(file->get(), path);
  if (!status) return fail(status.error());
  struct timespec times[2] = {{0, UTIME_OMIT}, {status->st_mtim.tv_sec - 1, status->st_mtim.tv_nsec}};
  if (uninterrupted([&] { return ::futimens(file->get(), times); }) != 0)
    return fail(system_error(errno, "set the date of", path));
  status = status_of(file->get(), path);
  if (!status) return fail(status.error());
  return stamp_of(*status);
}

Status remove_user_file(const std::string& path) {
  std::string name;
  const auto directory = directory_of(path, name);
  if (!directory) return directory.error().code == Code::not_found ? Status{} : fail(directory.error());
  return remove_file(directory->get(), name, Pages::leave, path);
}

UserFile::UserFile(Fd file, std::string path, const struct stat& status)
    : file_(std::move(file)),
      path_(std::move(path)),
      size_(static_cast<std::uint64_t>(status.st_size)),
      mode_(status.st_mode & kPermissions),
      stamp_(stamp_of(status)) {}

Result<UserFile> UserFile::open(const std::string& path) {
  std::string name;
  const auto directory = directory_of(path, name);
  if (!directory) return fail(missing(directory.error(), kMustExist));
  if (auto regular = check_entry(directory->get(), name, path); !regular) return fail(regular.error());
  auto file = open_file(directory->get(), name, O_RDONLY, path);
  if (!file) return fail(missing(file.error(), kMustExist));
  const auto status = status_of(file->get(), path);
  if (!status) return fail(status.error());
  return UserFile(std::move(*file), path, *status);
}

Status UserFile::read(std::uint64_t offset, MutableBytes into) const {
  auto read = read_exactly(file_.get(), offset, into, path_);
  return read || read.error().code != Code::corrupt ? read : fail(has_changed(path_));
}

Status UserFile::check_unchanged() const {
  const auto now = status_of(file_.get(), path_);
  if (!now) return fail(now.error());
  const bool same = static_cast<std::uint64_t>(now->st_size) == size_ && stamp_of(*now) == stamp_;
  if (same) return {};
  return fail(has_changed(path_));
}

Result<FileReplacement> FileReplacement::begin(const std::string& path, const std::string& tag,
                                               std::uint64_t size_bytes, std::optional<std::uint32_t> mode) {
  FileReplacement made;
  made.path_ = path;
  made.size_ = size_bytes;
  made.mode_ = mode;
  auto directory = directory_of(path, made.name_);
  if (!directory) return fail(missing(directory.error(), "make the directory before restore()"));
  made.directory_ = std::move(*directory);
  // Short, since a name that is nearly too long could not be made longer.
  const std::string digest = sha256(bytes_of(made.name_)).hex();
  made.temporary_ = fmt::format("{}{}-{}", kTemporary, tag, digest.substr(0, kDigestLetters));
  made.remove_temporary();
  const auto there = status_at(made.directory_.get(), made.name_);
  if (!there) return made;
  if (auto regular = check_regular(*there, path); !regular) return fail(regular.error());
  if (!made.mode_) made.mode_ = there->st_mode & kPermissions;
  if (static_cast<std::uint64_t>(there->st_size) < size_bytes) return made;
  if (auto file = open_file(made.directory_.get(), made.name_, O_RDWR, path)) made.existing_ = std::move(*file);
  return made;
}

FileReplacement::~FileReplacement() {
  if (has_temporary_ && reopen()) remove_temporary();
}

Status FileReplacement::reopen() {
  if (directory_.valid()) return {};
  auto directory = directory_of(path_, name_);
  if (!directory) return fail(directory.error());
  directory_ = std::move(*directory);
  return {};
}

void FileReplacement::rest() {
  directory_ = Fd();
  existing_ = Fd();
  written_ = Fd();
}

void FileReplacement::remove_temporary() { (void)remove_file(directory_.get(), temporary_, Pages::leave, path_); }

Status FileReplacement::add(Bytes bytes) {
  if (existing_.valid()) {
    const auto same = still_matches(bytes);
    if (same && *same) {
      position_ += bytes.size();
      return {};
    }
  }
  if (!written_.valid()) {
    if (auto begun = begin_temporary(); !begun) return begun;
  }
  return write(bytes);
}

Result<bool> FileReplacement::still_matches(Bytes bytes) const {
  Buffer there(bytes.size());
  if (auto read = read_exactly(existing_.get(), position_, there, path_); !read) return fail(read.error());
  return std::ranges::equal(there, bytes);
}

Status FileReplacement::begin_temporary() {
  constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL;
  constexpr mode_t kOfNewFile = 0666;
  const int flags = kFlags | O_CLOEXEC | O_NOFOLLOW;
  written_ = Fd(uninterrupted([&] { return ::openat(directory_.get(), temporary_.c_str(), flags, kOfNewFile); }));
  if (!written_.valid()) return fail(missing_is_a_fault(system_error(errno, "make a temporary file for", path_)));
  has_temporary_.set(true);
  const Status copied = copy_beginning();
  existing_ = Fd();
  return copied;
}

// That of the existing file has matched so far.
Status FileReplacement::copy_beginning() {
  const std::uint64_t matched = std::exchange(position_, 0);
  Buffer piece;
  while (position_ < matched) {
    piece.resize(std::min<std::uint64_t>(matched - position_, kMiB));
    auto moved = read_exactly(existing_.get(), position_, piece, path_).and_then([&] { return write(piece); });
    if (!moved) return moved;
  }
  return {};
}

Status FileReplacement::write(Bytes bytes) {
  while (!bytes.empty()) {
    const Bytes piece = bytes.first(std::min<std::uint64_t>(bytes.size(), kHoleBytes - position_ % kHoleBytes));
    // Several pieces without holes are written at once.
    std::uint64_t count = is_zero(piece) ? 0 : piece.size();
    while (count > 0 && count < bytes.size()) {
      const Bytes next = bytes.subspan(count, std::min<std::uint64_t>(bytes.size() - count, kHoleBytes));
      if (is_zero(next)) break;
      count += next.size();
    }
    if (count > 0) {
      if (auto done = write_all(written_.get(), position_, bytes.first(count), path_); !done) return done;
    }
    const std::uint64_t passed = std::max<std::uint64_t>(count, count == 0 ? piece.size() : 0);
    position_ += passed;
    bytes = bytes.subspan(passed);
  }
  return {};
}

Status FileReplacement::finish(Sync sync) {
  if (size_ == 0 && !existing_.valid() && !written_.valid()) {
    if (auto begun = begin_temporary(); !begun) return begun;
  }
  if (position_ != size_)
    return fail_internal(Code::invalid_argument, fmt::format("{} of {} bytes of {}", position_, size_, path_));
  if (!written_.valid()) return {};
  if (auto cut = truncate(written_.get(), size_, path_); !cut) return cut;
  if (mode_ && uninterrupted([&] { return ::fchmod(written_.get(), *mode_); }) != 0)
    return fail(system_error(errno, "set the permissions of", path_));
  constexpr std::uint32_t kOwnerReads = 0400;  // otherwise sync() cannot open it again
  if (sync == Sync::now || (mode_ && (*mode_ & kOwnerReads) == 0)) return sync_data(written_.get(), path_);
  const auto status = status_of(written_.get(), path_);
  if (!status) return fail(status.error());
  unsynced_ = status->st_dev;
  return {};
}

Status FileReplacement::sync() {
  if (!unsynced_) return {};
  if (auto opened = reopen(); !opened) return opened;
  const auto file = open_file(directory_.get(), temporary_, O_RDONLY, path_);
  if (!file) return fail(missing_is_a_fault(file.error()));
  auto synced = sync_data(file->get(), path_);
  if (synced) unsynced_.reset();
  return synced;
}

Status FileReplacement::apply() {
  if (auto opened = reopen(); !opened) return opened;
  if (has_temporary_) {
    auto renamed = rename(directory_.get(), temporary_, directory_.get(), name_, path_);
    if (renamed) has_temporary_.set(false);
    return renamed;
  }
  if (!existing_.valid()) {
    auto file = open_file(directory_.get(), name_, O_RDWR, path_);
    if (!file) return fail(missing(file.error(), "it was there when restore() began"));
    existing_ = std::move(*file);
  }
  if (auto cut = truncate(existing_.get(), size_, path_); !cut) return cut;
  if (mode_ && uninterrupted([&] { return ::fchmod(existing_.get(), *mode_); }) != 0)
    return fail(system_error(errno, "set the permissions of", path_));
  return {};
}

}  // namespace cairn::posix
