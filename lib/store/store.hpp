// A Store keeps the files of one job in one place: a node's own memory or disk, or the parallel file
// system. Names are relative, made by store/names. Nothing a Store is asked to keep is visible under its
// final name before commit(); a crash at any moment leaves the old file or the new one, whole.
//
// A retired file goes to the recycle pool, kept at its length, to be overwritten in place by a later
// create() of the same owner: on tmpfs that is twice as fast as a new file, and four times when its mapping
// is still warm in this process.
//
// Thread-safe; several processes of one user may share a store. Local: no call communicates. Errors name
// the path; a full store is Code::no_space and says how many bytes were wanted.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn {

// "dir/file" or "file": a path in a store, of one or two plain components. Made by store/names only.
struct FileName {
  std::string path;
  friend auto operator<=>(const FileName&, const FileName&) = default;
};
struct DirName {
  std::string path;
  friend auto operator<=>(const DirName&, const DirName&) = default;
};

// A file being written. Dropped without commit(), it leaves nothing behind under the final name.
class Writer {
 public:
  virtual ~Writer() = default;
  // The file's bytes mapped into memory, as long as the `size_bytes` of create(), if the store can map; else empty.
  [[nodiscard]] virtual MutableBytes mapping() = 0;
  // Anywhere within or beyond the size announced; the file grows when needed.
  [[nodiscard]] virtual Status write(std::uint64_t offset, Bytes bytes) = 0;
  // Reads back what was written.
  [[nodiscard]] virtual Status read(std::uint64_t offset, MutableBytes into) = 0;
  // Cuts the file to `size_bytes` and gives it its final name. Whatever had that name before is removed, also a
  // directory. With `sync`, the file is durable before it has the name; then its name and all other names in its
  // directory are durable too.
  [[nodiscard]] virtual Status commit(std::uint64_t size_bytes, bool sync) = 0;
};

// A file open for reading; stays readable while it is open, whatever happens to its name. But once retired, its
// bytes may be overwritten: verify checksums of what was read, after reading it.
class Reader {
 public:
  virtual ~Reader() = default;
  [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
  // Reads exactly into.size() bytes; Code::corrupt if there are fewer.
  [[nodiscard]] virtual Status read(std::uint64_t offset, MutableBytes into) const = 0;
  // The whole file mapped read-only, where the store can do so safely; else empty.
  [[nodiscard]] virtual Bytes mapping() const = 0;
};

// Wakes processes that share a store: the ranks ring their head, the head rings its ranks.
class Bell {
 public:
  enum class Who { head, ranks };
  virtual ~Bell() = default;
  virtual void ring(Who who) = 0;
  // The number of rings so far: read it, look for work, then wait with it.
  [[nodiscard]] virtual std::uint32_t rings(Who who) const = 0;
  // Sleeps until a ring beyond `seen`, or for `limit`.
  virtual void wait(Who who, std::uint32_t seen, std::chrono::microseconds limit) = 0;
};

// A file that this process writes while others read it.
class SharedFile {
 public:
  virtual ~SharedFile() = default;
  // Mapped; zero at first. They stay while this lives, whatever happens to the file's name.
  [[nodiscard]] virtual MutableBytes bytes() = 0;
};

// Held while it lives.
class Lock {
 public:
  virtual ~Lock() = default;
};

struct Entry {
  std::string name;  // one component
  std::uint64_t size_bytes = 0;
  bool directory = false;
};

// Whether a listing of the directory that this file is in has it.
[[nodiscard]] bool has_entry(const std::vector<Entry>& entries, const FileName& name);

class Store {
 public:
  virtual ~Store() = default;

  // Opens `name` for writing, with room for `size_bytes` reserved, reusing a file retired by `owner` where
  // there is one. Empty owner: a new file, which a store that maps may neither reserve nor map, since it takes less
  // time to write it by calls. Makes the directory of `name` when it is missing.
  [[nodiscard]] virtual Result<std::unique_ptr<Writer>> create(const FileName& name, std::uint64_t size_bytes,
                                                               const std::string& owner) = 0;
  // Prepares files for create() by `owner`, one per call, until there are `count` of this size that can be overwritten
  // at the speed of memory. Uses free space only. True: nothing was left to do, or a store of this kind needs no
  // preparation.
  [[nodiscard]] virtual Result<bool> warm_up(const std::string& /*owner*/, std::uint64_t /*size_bytes*/,
                                             std::uint32_t /*count*/) {
    return true;
  }
  [[nodiscard]] virtual Result<std::unique_ptr<Reader>> open(const FileName& name) const = 0;
  // Overwrites bytes inside a committed file. Not atomic: only for bytes that no reader trusts yet.
  [[nodiscard]] virtual Status patch(const FileName& name, std::uint64_t offset, Bytes bytes) = 0;
  // Makes a file's bytes durable, but not its name.
  [[nodiscard]] virtual Status sync(const FileName& name) = 0;

  // What is in a directory (top level: empty name), in name order; a missing one is empty. Temporary
  // files, the recycle pool, the lock and the bell are never listed.
  [[nodiscard]] virtual Result<std::vector<Entry>> list(const DirName& directory) const = 0;
  // Invalidates the first 4 KiB of a file and hands it to the recycle pool of `owner`. Missing: fine.
  [[nodiscard]] virtual Status retire(const FileName& name, const std::string& owner) = 0;
  // Missing: fine.
  [[nodiscard]] virtual Status remove(const FileName& name) = 0;
  // With all that is in it. Missing: fine.
  [[nodiscard]] virtual Status remove_directory(const DirName& name) = 0;
  // The same, but its space may be free only a little later: after the next reclaim(), or when the store is destroyed.
  // An error may be that of the removal before: what it has left goes with a later reclaim().
  [[nodiscard]] virtual Status remove_directory_later(const DirName& name) { return remove_directory(name); }
  // Atomic; syncs the parent.
  [[nodiscard]] virtual Status rename_directory(const DirName& from, const DirName& to) = 0;
  // Whose half-written files may be removed. A store cannot tell whether a process of another host lives:
  // `of_all_hosts` is only for a caller that knows that no such process does.
  enum class Writers { of_this_host, of_all_hosts };
  // Removes what dead writers left, and what a dead process had begun to remove. The recycle pool stays.
  [[nodiscard]] virtual Status reclaim(Writers /*whose*/) { return {}; }
  // Empties the recycle pool and removes what dead writers left.
  [[nodiscard]] virtual Status clean() = 0;

  // Refuses (Code::taken_over) when another process holds it; the kernel releases it when that one dies.
  [[nodiscard]] virtual Result<std::unique_ptr<Lock>> lock() = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<Bell>> bell() = 0;
  // A new file of this length, which has its name at once; whatever had it before is removed. A crash leaves it as it
  // is. Takes free space only. Null: a store of this kind cannot map.
  [[nodiscard]] virtual Result<std::unique_ptr<SharedFile>> share(const FileName& /*name*/,
                                                                  std::uint64_t /*size_bytes*/) {
    return nullptr;
  }

  // The path of a directory of this store in which the application writes files by itself; made if it is missing. A
  // listing of the top level has it. A store of a kind that has no paths: Code::invalid_argument.
  [[nodiscard]] virtual Result<std::string> directory_of_files(const DirName& name);

  // Bytes that new files can take, the recycle pool included.
  [[nodiscard]] virtual Result<std::uint64_t> free_bytes() const = 0;
  // Where this is, for messages.
  [[nodiscard]] virtual std::string where() const = 0;
};

// `bytes` bytes of a file at `offset`: in its mapping, or else in `scratch`.
[[nodiscard]] Result<Bytes> view(const Reader& from, std::uint64_t offset, std::uint64_t bytes, Buffer& scratch);

// The whole of a small file, and its inverse: written new, synced, renamed into place. A file that is longer than
// `most_bytes` is Code::corrupt, and no memory is allocated for it.
inline constexpr std::uint64_t kSmallFileBytes = 64 * kKiB;
[[nodiscard]] Result<std::string> read_text(const Store& store, const FileName& name,
                                            std::uint64_t most_bytes = kSmallFileBytes);
[[nodiscard]] Status write_text(Store& store, const FileName& name, std::string_view text);
// The same of any bytes, for a file whose loss in a power cut does no harm.
[[nodiscard]] Status write_unsynced(Store& store, const FileName& name, Bytes bytes);

}  // namespace cairn
