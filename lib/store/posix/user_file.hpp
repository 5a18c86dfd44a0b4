// Files of the application: snapshots contain them, and a restore puts them back. The last part of a path is never
// followed if it is a symbolic link. Local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "store/posix/posix_file.hpp"

namespace cairn::posix {

// Whether it is the name of a temporary file, as FileReplacement makes them.
[[nodiscard]] bool is_temporary_name(std::string_view name);
[[nodiscard]] Error has_changed(const std::string& path);

// Tells whether somebody has written to a file.
struct FileStamp {
  std::uint64_t file = 0;                     // its inode
  std::int64_t seconds = 0, nanoseconds = 0;  // when it was last written to
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
// Dates a file back, so that each later write changes its stamp, which it returns.
[[nodiscard]] Result<FileStamp> date_back(const std::string& path);
// Missing: fine.
[[nodiscard]] Status remove_user_file(const std::string& path);

// A file as it was when it was opened, for reading.
class UserFile {
 public:
  static Result<UserFile> open(const std::string& path);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint32_t mode() const { return mode_; }
  [[nodiscard]] FileStamp stamp() const { return stamp_; }
  // An error if it has become shorter.
  [[nodiscard]] Status read(std::uint64_t offset, MutableBytes into) const;
  // Whether it has neither grown nor shrunk, and nobody has written to it.
  [[nodiscard]] Status check_unchanged() const;

 private:
  UserFile(Fd file, std::string path, const struct stat& status);

  Fd file_;
  std::string path_;
  std::uint64_t size_;
  std::uint32_t mode_;
  FileStamp stamp_;
};

// Puts a file back in two steps. add() prepares: nothing has changed yet, whatever happens. Then apply() makes the
// change at once, so that a crash leaves the old file or the new one, whole. A file that begins with the stored bytes
// is truncated in place, so that open descriptors stay right. Any other is written under a temporary name, with zeros
// as holes, and renamed.
class FileReplacement {
 public:
  // `mode`: of the stored file; none: as the file there has, or as a new file gets. `tag` tells apart who prepares the
  // same path at once; what the same tag has left is removed.
  static Result<FileReplacement> begin(const std::string& path, const std::string& tag, std::uint64_t size_bytes,
                                       std::optional<std::uint32_t> mode);
  FileReplacement(FileReplacement&&) noexcept = default;
  FileReplacement& operator=(FileReplacement&&) = delete;
  // Removes the temporary file.
  ~FileReplacement();

  // The next bytes of the file.
  [[nodiscard]] Status add(Bytes bytes);
  // All bytes are there. What is written under the temporary name is on the disk then, unless the caller sees to that.
  enum class Sync { now, by_caller };
  [[nodiscard]] Status finish(Sync sync = Sync::now);
  // After finish(Sync::by_caller): the device of the file system that has to be synced; none: nothing was written.
  [[nodiscard]] std::optional<std::uint64_t> unsynced() const { return unsynced_; }
  // The same for this file alone, which may be at rest.
  [[nodiscard]] Status sync();
  // After finish(): until apply(), it has no descriptors.
  void rest();
  [[nodiscard]] Status apply();

 private:
  // True only where it was set, not in what was moved from.
  class Flag {
   public:
    Flag() = default;
    Flag(Flag&& other) noexcept : set_(std::exchange(other.set_, false)) {}
    Flag& operator=(Flag&&) = delete;
    ~Flag() = default;
    void set(bool to) { set_ = to; }
    explicit operator bool() const { return set_; }

   private:
    bool set_ = false;
  };

  FileReplacement() = default;
  [[nodiscard]] Status reopen();
  [[nodiscard]] Result<bool> still_matches(Bytes bytes) const;
  [[nodiscard]] Status begin_temporary();
  [[nodiscard]] Status copy_beginning();
  [[nodiscard]] Status write(Bytes bytes);
  void remove_temporary();

  std::string path_;
  std::string name_;       // in its directory
  std::string temporary_;  // the same
  std::uint64_t size_ = 0;
  std::optional<std::uint32_t> mode_;
  Fd directory_;
  Fd existing_;  // open for writing, as long as it matches
  Fd written_;   // the temporary file
  Flag has_temporary_;
  std::optional<std::uint64_t> unsynced_;
  std::uint64_t position_ = 0;
};

}  // namespace cairn::posix
