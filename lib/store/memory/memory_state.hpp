// What a MemoryStore and its writers share: the files, and the account of the bytes they take.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "store/store.hpp"

namespace cairn {

struct MemoryFile {
  Buffer bytes;
  std::mutex mutex;             // of `bytes`, once the file is committed
  std::atomic<int> readers{0};  // grows only under the state's mutex
};
using MemoryFilePtr = std::shared_ptr<MemoryFile>;

struct MemoryBell {
  std::mutex mutex;
  std::condition_variable rung;
  std::uint32_t rings[2] = {0, 0};
};

// The caller of a method must hold `mutex`.
struct MemoryState {
  std::uint64_t capacity_bytes = 0;
  std::string where;

  std::mutex mutex;
  std::map<std::string, MemoryFilePtr> files;  // by path
  std::set<std::string> directories;
  std::multimap<std::string, MemoryFilePtr> retired;  // by owner
  std::uint64_t used_bytes = 0;                       // by all files, those being written included
  std::uint64_t life = 0;                             // grows with every wipe
  bool locked = false;
  MemoryBell bell;

  // Takes `extra_bytes` from what is free; gives up retired files when there is too little.
  [[nodiscard]] Status take(std::uint64_t extra_bytes, const std::string& path);
  // The same, without giving up any.
  [[nodiscard]] Status take_free(std::uint64_t extra_bytes, const std::string& path);
  [[nodiscard]] std::uint64_t retired_bytes() const;
  void forget_retired();
  // A file that `owner` retired and nobody reads: the smallest that is large enough, else the largest.
  [[nodiscard]] MemoryFilePtr claim(const std::string& owner, std::uint64_t size_bytes);
  // Takes a file out of its place; empty when there is none.
  [[nodiscard]] MemoryFilePtr take_out(const std::string& path);
  [[nodiscard]] Result<MemoryFilePtr> find(const FileName& name) const;
  [[nodiscard]] std::string path_of(const std::string& name) const { return where + "/" + name; }
};

// The directory part of "dir/file"; empty for "file".
[[nodiscard]] std::string directory_of(const std::string& path);

// A file of `state` being written, in a buffer of its own that take() has accounted for.
[[nodiscard]] std::unique_ptr<Writer> write_memory(std::shared_ptr<MemoryState> state, FileName name,
                                                   MemoryFilePtr file, std::string owner, bool recycled);

}  // namespace cairn
