// The pieces of POSIX file I/O that PosixStore is made of: an owned descriptor, reads and writes that are complete or
// fail, reserved space, directories. Relative to a directory's descriptor, and never through a symbolic link. Local;
// `path` is for messages only.
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
#include "store/readers.hpp"

namespace cairn::posix {

// Calls a system call again while a signal interrupts it. Not for close(): Linux has closed the descriptor even then,
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

// "<path>: cannot <doing>: <why>". ENOENT is Code::not_found, ENOSPC and EDQUOT are Code::no_space. Beyond the limit on
// file sizes a write fails with EFBIG here, which is Code::io, and raises no signal.
[[nodiscard]] Error system_error(int number, std::string_view doing, const std::string& path);

// While something is being created, a missing directory is a fault of the storage and not an answer: turns
// Code::not_found into Code::io, with the reason.
[[nodiscard]] Error missing_is_a_fault(Error error);

// Opens a file or directory in `directory` with O_CLOEXEC | O_NOFOLLOW. A file must be a regular one. A file to be
// written to must belong to the user and have no other name, because a write would change the file under that name too.
[[nodiscard]] Result<Fd> open_file(int directory, const std::string& name, int flags, const std::string& path);
[[nodiscard]] Result<Fd> open_directory(int directory, const std::string& name, const std::string& path);
// Makes the directory if it is missing; no other user may enter it.
[[nodiscard]] Status make_directory(int directory, const std::string& name, const std::string& path);

[[nodiscard]] Result<struct stat> status_of(int file, const std::string& path);
// Lets the group read a file or directory, or nobody but its owner, whatever the process's umask is. What is made in
// such a directory belongs to the directory's group.
[[nodiscard]] Status admit(Readers readers, int file, const std::string& path);
// Whether it belongs to the user that this process acts for; else an error with `code`.
[[nodiscard]] Status check_user(const struct stat& status, const std::string& path, Code code, std::string hint = {});
// Whether an open directory has been removed: it has no name any more.
[[nodiscard]] bool is_removed(int directory);
// Whether a file has a second name: a user's hard link, or the rest of a rename that a power cut interrupted. Cairn
// must not change the bytes of such a file.
[[nodiscard]] bool has_other_names(const struct stat& file);
// The status of the directory entry with this name, also if it is a link; nothing if it cannot be read.
[[nodiscard]] std::optional<struct stat> status_at(int directory, const std::string& name);
[[nodiscard]] Status write_all(int file, std::uint64_t offset, Bytes bytes, const std::string& path);
// Fewer bytes in the file is Code::corrupt.
[[nodiscard]] Status read_exactly(int file, std::uint64_t offset, MutableBytes into, const std::string& path);
// Makes the file at least `size_bytes` long with room for every byte, so that no later write of them, also through a
// mapping, can meet a full file system. If the file system cannot reserve space, only the length is set.
[[nodiscard]] Status reserve(int file, std::uint64_t size_bytes, const std::string& path);
[[nodiscard]] Status truncate(int file, std::uint64_t size_bytes, const std::string& path);
// A hint: starts to write these bytes to the disk, so that a later sync takes less time.
void start_writeback(int file, std::uint64_t offset, std::uint64_t size_bytes);
[[nodiscard]] Status sync_data(int file, const std::string& path);
[[nodiscard]] Status sync_directory(int directory, const std::string& path);
[[nodiscard]] Status rename(int from_directory, const std::string& from, int to_directory, const std::string& to,
                            const std::string& path);

// The same if nothing has the new name. False: something has it, or the file system cannot tell.
[[nodiscard]] Result<bool> rename_new(int from_directory, const std::string& from, int to_directory,
                                      const std::string& to, const std::string& path);

// Whether the lock was taken (flock with LOCK_NB). It ends with the descriptor.
[[nodiscard]] bool try_lock_shared(int file);
[[nodiscard]] bool try_lock_exclusive(int file);
void unlock(int file);

// The names in a directory, sorted, without "." and "..".
[[nodiscard]] Result<std::vector<std::string>> names_in(int directory, const std::string& path);
[[nodiscard]] Result<std::uint64_t> free_bytes(int directory, const std::string& path);
// Whether the file system limits the number of files, and has reached that limit.
[[nodiscard]] bool has_no_free_inodes(int directory);

enum class Pages { leave, release };

// Whether this name in the directory still belongs to this file. To be called after a file was opened and then locked:
// in between another process may have taken it, under another name.
[[nodiscard]] bool is_still_named(int directory, const std::string& name, int file);

// Removes a file; missing is fine. Pages::release frees its memory even when a process still has it mapped
// for writing, unless somebody reads it or it has other names.
[[nodiscard]] Status remove_file(int directory, const std::string& name, Pages pages, const std::string& path);
// Removes a directory with all that is in it; missing is fine.
[[nodiscard]] Status remove_tree(int directory, const std::string& name, Pages pages, const std::string& path);

}  // namespace cairn::posix
