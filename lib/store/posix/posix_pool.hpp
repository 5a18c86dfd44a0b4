// The recycle pool of a PosixStore: the directory recycle/ with
//
//   <owner>.<inode>.free                     retired by `owner`, at full length; anybody may remove it, or being
//                                            written by who holds it locked
//   <owner>.<host>-<pid>.<seq>.writing       being written by that process; removed when the process is dead
//   <seq>.removed                            a file or directory on its way out
//
// Every step from one state to the next is one rename, so two processes never get the same file, and a crash
// leaves a file in one of these states. <seq> starts at a random number in every store that is opened; a free file is
// named by its inode, so that who has it open still finds it without a search.
//
// On tmpfs (`mapped`) a reader holds a shared flock on its file, and a file is claimed or emptied only under an
// exclusive one: a mapping being read never loses its pages. Whoever has got the lock looks at the name again, since
// the file may have been claimed and committed by another between open and lock. A file that is warm in the process
// that claims it keeps name and lock until it gets its final name, which saves a snapshot one rename of two.
//
// A file that has another name as well, anywhere, is never written over, invalidated or emptied: only its name goes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "store/posix/posix_file.hpp"
#include "store/posix/posix_mapping.hpp"
#include "store/posix/posix_warm.hpp"

namespace cairn::posix {

// A file that one Writer has for itself.
struct PoolFile {
  Fd file;
  std::string name;   // in recycle/
  std::string owner;  // empty: nobody's, never recycled
  std::string path;   // the final one, for messages
  FileId id;
  std::uint64_t size_bytes = 0;  // of the file, all of it reserved
  bool recycled = false;
  bool locked = false;               // and still named as a free file
  std::shared_ptr<Mapping> mapping;  // none where the file system is not mapped
};

class FilePool {
 public:
  FilePool(Fd directory, std::string path, bool mapped, std::size_t warm_files);

  // Whether its directory has been removed.
  [[nodiscard]] bool is_gone() const { return is_removed(directory_.get()); }

  // A file with room for `size_bytes`, to become `path`: one that `owner` retired, or a new one.
  [[nodiscard]] Result<PoolFile> claim(const std::string& owner, std::uint64_t size_bytes, const std::string& path);
  // Undoes claim(): a recycled file goes back, a new one goes away.
  void give_back(PoolFile slot);
  // Makes room for `size_bytes` in all, at the cost of all free files when there is no other.
  [[nodiscard]] Status grow(PoolFile& slot, std::uint64_t size_bytes);
  // Makes it exactly so long.
  [[nodiscard]] Status cut(PoolFile& slot, std::uint64_t size_bytes);
  // Runs `write`; when it finds the store full, of bytes or of inodes, gives back what dead writers left and all free
  // files, and runs it once more.
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
  // Gives the slot its final name; a directory that is in its place goes. The file stays warm.
  [[nodiscard]] Status publish(PoolFile& slot, int directory, const std::string& file, const std::string& path);

  // Takes in a file of a store's directory, with its first 4 KiB zeroed, for `owner` to have again. Missing is fine.
  [[nodiscard]] Status adopt(int directory, const std::string& file, const std::string& owner, const std::string& path);
  // Takes a file or directory out of sight in one step, then removes it. Missing is fine.
  [[nodiscard]] Status discard(int directory, const std::string& name, const std::string& path);
  // Removes what is on its way out, or left by dead writers: of this host, or of any other as well.
  [[nodiscard]] Status reclaim(bool all_hosts);
  // The same, and what is free.
  [[nodiscard]] Status clean(bool all_hosts);
  // What the free files take.
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
};

}  // namespace cairn::posix
