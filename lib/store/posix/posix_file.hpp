// The pieces of POSIX file I/O that PosixStore is built of: an owned descriptor, reads and writes that are
// whole or an error, reserved space, directories. Relative to a directory's descriptor, and never through a
// symbolic link. Local; `path` is for messages only.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn::posix {

// Calls a system call again while a signal interrupts it. For all but close(): Linux has closed the descriptor then,
// and another thread may have got its number.
template <class Call>
auto uninterrupted(Call call) {
  auto answer = call();
  while (answer < 0 && errno == EINTR) answer = call();
  return answer;
}

// An open descriptor, closed when it goes.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  ~Fd();
  Fd(Fd&& other) noexcept;
  Fd& operator=(Fd&& other) noexcept;

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool valid() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// "<path>: cannot <doing>: <why>". ENOENT is Code::not_found, ENOSPC and EDQUOT are Code::no_space.
[[nodiscard]] Error system_error(int number, std::string_view doing, const std::string& path);

// Where something is being made, a directory that is not there is no answer but a fault of the storage: Code::io, with
// the reason.
[[nodiscard]] Error missing_is_a_fault(Error error);

// Opens a file or directory in `directory` with O_CLOEXEC | O_NOFOLLOW. A file must be a regular one; one to be written
// to must be the user's, and have no other name, under which somebody else's file would be overwritten.
[[nodiscard]] Result<Fd> open_file(int directory, const std::string& name, int flags, const std::string& path);
[[nodiscard]] Result<Fd> open_directory(int directory, const std::string& name, const std::string& path);
// Makes the directory, with nobody else allowed in, where it is missing.
[[nodiscard]] Status make_directory(int directory, const std::string& name, const std::string& path);

[[nodiscard]] Result<struct stat> status_of(int file, const std::string& path);
// Whether it belongs to the user that this process acts for; else an error of that kind.
[[nodiscard]] Status check_user(const struct stat& status, const std::string& path, Code code, std::string hint = {});
// Whether an open directory has been removed: it has no name any more.
[[nodiscard]] bool is_removed(int directory);
// Whether a file has a name beside the one it was found by: a user's hard link, or what a power cut left of a rename.
// Its bytes are not ours alone.
[[nodiscard]] bool has_other_names(const struct stat& file);
// Of what has this name in the directory, be it a link; nothing when it cannot be told.
[[nodiscard]] std::optional<struct stat> status_at(int directory, const std::string& name);
[[nodiscard]] Status write_all(int file, std::uint64_t offset, Bytes bytes, const std::string& path);
// Fewer bytes in the file is Code::corrupt.
[[nodiscard]] Status read_exactly(int file, std::uint64_t offset, MutableBytes into, const std::string& path);
// Makes the file at least `size_bytes` long with room for every byte, so that no later write of them, and no
// store through a mapping, can meet a full file system. Where the file system cannot reserve: only the length.
[[nodiscard]] Status reserve(int file, std::uint64_t size_bytes, const std::string& path);
[[nodiscard]] Status truncate(int file, std::uint64_t size_bytes, const std::string& path);
// Has the disk begin with these bytes, so that a later sync waits less. A hint.
void start_writeback(int file, std::uint64_t offset, std::uint64_t size_bytes);
[[nodiscard]] Status sync_data(int file, const std::string& path);
[[nodiscard]] Status sync_directory(int directory, const std::string& path);
[[nodiscard]] Status rename(int from_directory, const std::string& from, int to_directory, const std::string& to,
                            const std::string& path);

// The same when nothing has the new name; false: something has, or the file system cannot tell.
[[nodiscard]] Result<bool> rename_new(int from_directory, const std::string& from, int to_directory,
                                      const std::string& to, const std::string& path);

// Whether the lock was taken (flock with LOCK_NB); it goes with the descriptor.
[[nodiscard]] bool try_lock_shared(int file);
[[nodiscard]] bool try_lock_exclusive(int file);
void unlock(int file);

// The names in a directory, sorted, without "." and "..".
[[nodiscard]] Result<std::vector<std::string>> names_in(int directory, const std::string& path);
[[nodiscard]] Result<std::uint64_t> free_bytes(int directory, const std::string& path);
// Whether the file system has a limit of files, and has reached it.
[[nodiscard]] bool has_no_free_inodes(int directory);

enum class Pages { leave, release };

// Whether the name in the directory is that of this file now. Whoever opened a file, and then locked it, asks again: in
// between it may have become somebody else's, under another name.
[[nodiscard]] bool is_still_named(int directory, const std::string& name, int file);

// Removes a file; missing is fine. Pages::release frees its memory even when a process still has it mapped
// for writing, unless somebody reads it or it has other names.
[[nodiscard]] Status remove_file(int directory, const std::string& name, Pages pages, const std::string& path);
// Removes a directory with all that is in it; missing is fine.
[[nodiscard]] Status remove_tree(int directory, const std::string& name, Pages pages, const std::string& path);

}  // namespace cairn::posix
