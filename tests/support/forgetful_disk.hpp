// What a power cut may take from a store: data of files, their lengths, their names and directories, each by itself,
// so far as POSIX allows it. What was synced stays; of the rest some is old, some new, and a file may be a mixture of
// both. So a name may be there whose data never came, a removed name may be back, and with it a file that was written
// over since.
//
// It follows the changes to a MemoryStore, which holds what processes see, and puts into it what is left after a cut.
// Thread-safe, but for lose_power() and reload(), which are for moments when nobody uses the store.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "store/memory/memory_store.hpp"
#include "support/store_image.hpp"

namespace cairn::test {

class ForgetfulDisk {
 public:
  struct Change {  // some bytes, or a new length
    std::uint64_t offset = 0;
    Buffer bytes;
    std::optional<std::uint64_t> length;
  };
  struct Inode {
    Buffer synced;
    std::vector<Change> since;
    [[nodiscard]] Buffer now() const;
  };
  using File = std::shared_ptr<Inode>;

  // The store must outlive it.
  explicit ForgetfulDisk(MemoryStore& store);

  // A file that is nobody's yet and has room for `size_bytes`: one that `owner` retired, or a new one.
  [[nodiscard]] File make(const std::string& path, std::uint64_t size_bytes, const std::string& owner);
  void give_back(const File& file, const std::string& owner);
  void write(const File& file, std::uint64_t offset, Bytes bytes);
  void set_length(const File& file, std::uint64_t size_bytes);
  void sync(const File& file);
  void name(const File& file, const std::string& path);
  // All names in the directory of `path`, and the directory's own.
  void sync_names(const std::string& path);
  void sync_top();

  void write(const std::string& path, std::uint64_t offset, Bytes bytes);
  void sync(const std::string& path);
  void retire(const std::string& path, const std::string& owner);
  void remove(const std::string& path);
  void remove_directory(const std::string& path);
  void rename_directory(const std::string& from, const std::string& to);
  void clean();

  // The power goes and comes back. Of what was not synced, seed 0 loses all; others choose.
  void lose_power(std::uint64_t seed);
  // Somebody else has put files into the store: they are there and synced.
  void reload();

 private:
  // What a name has stood for since its directory was synced, the oldest first; null: nothing.
  template <class Thing>
  using Names = std::map<std::string, std::vector<std::shared_ptr<Thing>>>;
  struct Directory {
    Names<Inode> files;
  };
  template <class Thing>
  static std::shared_ptr<Thing> now(const Names<Thing>& names, const std::string& name);

  [[nodiscard]] Directory* directory_of_path(const std::string& path, bool make);
  [[nodiscard]] File find(const std::string& path);
  void unname(const std::string& path);
  [[nodiscard]] File claim(const std::string& owner, std::uint64_t size_bytes);

  class Survivors;
  [[nodiscard]] std::map<std::string, std::shared_ptr<Directory>> keep_directories(Survivors& survivors);

  MemoryStore& store_;
  std::mutex mutex_;
  Directory top_;
  Names<Directory> directories_;
  std::multimap<std::string, File> retired_;
};

}  // namespace cairn::test
