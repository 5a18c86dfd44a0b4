// The recycle pool of a PosixStore: the directory recycle/ with
//
//   <owner>.<inode>.free                     retired by `owner`, at full length; anybody may remove it, unless it is
//                                            being written by a process that holds it locked
//   <owner>.<host>-<pid>.<seq>.writing       being written by that process; removed when the process is dead
//   <seq>.removed                            a file or directory on its way out
//
// Every step from one state to the next is one rename, so two processes never get the same file, and a crash leaves a
// file in one of these states. <seq> starts at a random number in every store that is opened; a free file is named by
// its inode, so that a process that still has it open finds it without a search.
//
// On tmpfs (`mapped`) a reader holds a shared flock on its file, and a file is claimed or emptied only under an
// exclusive one: a mapping being read never loses its pages. A process that has got the lock checks the name again,
// because another process may have claimed and committed the file between open and lock. A file that is warm in the
// process that claims it keeps name and lock until it gets its final name, which saves a snapshot one rename of two.
//
// A file that has a second name anywhere is never overwritten, invalidated or emptied: only its name here is removed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "store/posix/posix_disposal.hpp"
#include "store/posix/posix_file.hpp"
#include "store/posix/posix_mapping.hpp"
#include "store/posix/posix_warm.hpp"

namespace cairn::posix {

// A file that one Writer has for itself.
struct PoolFile {
  Fd file;
  std::string name;   // in recycle/
  std::string owner;  // empty: has no owner, is never recycled
  std::string path;   // the final one, for messages
  FileId id;
  std::uint64_t size_bytes = 0;  // of the file, all of it reserved
  bool recycled = false;
  bool locked = false;               // it still has the name of a free file
  std::shared_ptr<Mapping> mapping;  // none where the file system is not mapped
};

class FilePool {
 public:
  FilePool(Fd directory, std::string path, bool mapped, std::size_t warm_files);

  // Whether its directory has been removed.
  [[nodiscard]] bool is_gone() const { return is_removed(directory_.get()); }

  // A file with room for `size_bytes`, to become `path`: one that `owner` retired, or a new one.
  [[nodiscard]] Result<PoolFile> claim(const std::string& owner, std::uint64_t size_bytes, const std::string& path);
  // Undoes claim(): a recycled file goes back to the pool, a new one is removed.
  void give_back(PoolFile slot);
  // Makes room for `size_bytes` in all in the slot's file; removes all free files if there is no other space.
  [[nodiscard]] Status grow(PoolFile& slot, std::uint64_t size_bytes);
  // Makes the file exactly `size_bytes` long.
  [[nodiscard]] Status cut(PoolFile& slot, std::uint64_t size_bytes);
  // Runs `write`. If the store is full (no bytes or no inodes left), removes what dead writers left and all free files,
  // and runs it a second time.
  template <class Write>
  [[nodiscard]] Status with_room(std::uint64_t wanted_bytes, Write write) {
    Status done = write();
    if (!done && done.error().code == Code::no_space) {
      make_room();
      done = write();
      if (!done && done.error().code == Code::no_space) return fail(full(done.error(), wanted_bytes));
    }
    return done;
  }
  // Makes free files of `owner` ready to be written at the speed of memory, one a call: a cold one is mapped, and when
  // there are fewer than `count` of this size a new one is made, from free space only. True: nothing was left to do.
  [[nodiscard]] Result<bool> warm_up(const std::string& owner, std::uint64_t size_bytes, std::uint32_t count);
  // Gives the slot its final name, and removes a directory that has this name. The file stays warm.
  [[nodiscard]] Status publish(PoolFile& slot, int directory, const std::string& file, const std::string& path);

  // Moves a file from a store's directory into the pool, with its first 4 KiB zeroed, for `owner` to reuse. Missing is
  // fine.
  [[nodiscard]] Status adopt(int directory, const std::string& file, const std::string& owner, const std::string& path);
  // Hides a file or directory by one rename, then removes it. Missing is fine.
  [[nodiscard]] Status discard(int directory, const std::string& name, const std::string& path);
  // The same, but what is in a directory is removed later, in the background; or by a later reclaim(), if that fails.
  // An error may be that of the removal before.
  [[nodiscard]] Status discard_later(int directory, const std::string& name, const std::string& path);
  // Removes what is being removed (.removed), and what dead writers left: writers of this host, or also of all others.
  [[nodiscard]] Status reclaim(bool all_hosts);
  // The same, and removes the free files.
  [[nodiscard]] Status clean(bool all_hosts);
  // The space that the free files take.
  [[nodiscard]] Result<std::uint64_t> free_file_bytes() const;

 private:
  struct Candidate {
    std::string name;
    std::uint64_t size_bytes;
    bool warm;
  };
  [[nodiscard]] std::vector<Candidate> candidates(const std::string& owner, std::uint64_t size_bytes) const;
  [[nodiscard]] std::optional<PoolFile> claim_warm(const std::string& owner, std::uint64_t size_bytes,
                                                   const std::string& path);
  [[nodiscard]] std::optional<PoolFile> claim_free(const std::string& owner, std::uint64_t size_bytes,
                                                   const std::string& path);
  [[nodiscard]] std::optional<PoolFile> claim_this(const std::string& name, const std::string& owner,
                                                   const std::string& path);
  [[nodiscard]] Result<PoolFile> make_new(const std::string& owner, const std::string& path);
  [[nodiscard]] Status map(PoolFile& slot, std::uint64_t size_bytes);
  [[nodiscard]] Error full(const Error& error, std::uint64_t wanted_bytes) const;
  // Its new name in the pool; empty: it is missing.
  [[nodiscard]] Result<std::string> hide(int directory, const std::string& name, const std::string& path);
  [[nodiscard]] Status remove_hidden(const std::string& hidden);
  [[nodiscard]] Result<FileId> invalidate(const std::string& name, const std::string& path);
  void keep_warm(PoolFile& slot);
  void make_room();
  [[nodiscard]] Status remove_free();
  // Removes a free file, unless somebody writes it.
  [[nodiscard]] Status discard_free(const std::string& name);
  [[nodiscard]] std::string next_sequence();
  [[nodiscard]] std::string writing_name(const std::string& owner);
  [[nodiscard]] Pages pages() const { return mapped_ ? Pages::release : Pages::leave; }
  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  Fd directory_;
  std::string path_;
  bool mapped_;
  WarmFiles warm_;
  std::string host_;
  std::atomic<std::uint64_t> sequence_;
  Disposal disposal_;  // last: it uses the others
};

}  // namespace cairn::posix
