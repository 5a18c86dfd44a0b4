// A directory of the application that snapshots contain, with all files and directories in it, as one region.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cairn/session_base.hpp>

#include "base/ids.hpp"
#include "format/directory_table.hpp"
#include "session/protected_path.hpp"
#include "store/posix/file_system_sync.hpp"
#include "store/posix/user_directory.hpp"
#include "store/posix/user_file.hpp"

namespace cairn {

class ProtectedDirectory final : public ProtectedPath {
 public:
  // `self`: ranks that protect one path do not disturb each other.
  ProtectedDirectory(const std::string& path, Rank self);

  [[nodiscard]] std::string text(const std::string& region) const override;
  [[nodiscard]] Status open() override;
  [[nodiscard]] Status read(std::uint64_t offset, MutableBytes into) override;
  void close() override;
  [[nodiscard]] std::string type_name() const override { return std::string(kDirectoryType); }

 private:
  [[nodiscard]] Status begin(std::uint64_t size_bytes, const RegionInfo* stored) override;
  [[nodiscard]] Status add(Bytes bytes) override;
  [[nodiscard]] Status finish() override;
  // Files that have appeared since the snapshot stay.
  [[nodiscard]] Status apply() override;
  void drop() override;

  [[nodiscard]] std::string path_of(const std::string& below) const {
    return below.empty() ? path_ : path_ + "/" + below;
  }
  // Of a snapshot: the file with this byte.
  [[nodiscard]] Status read_file(std::size_t file, std::uint64_t offset, MutableBytes into);
  [[nodiscard]] Status check_same() const;
  // Of a restore: takes as much of `bytes` as belongs to the head, the table or the next file.
  [[nodiscard]] Status add_to_head(Bytes& bytes);
  [[nodiscard]] Status take_table();
  [[nodiscard]] Status add_to_file(Bytes& bytes);
  // Begins the next file that has bytes; those without any are finished.
  [[nodiscard]] Status next_file();
  [[nodiscard]] Status finish_file();
  [[nodiscard]] Status sync_files();

  std::string path_;
  std::string tag_;

  // Of a snapshot.
  std::vector<posix::FoundEntry> found_;
  Buffer head_;                        // with the table; in a restore, what has come of it
  std::vector<std::size_t> files_;     // positions in `found_` of files with bytes
  std::vector<std::uint64_t> starts_;  // of these in the region
  std::optional<std::size_t> open_;    // position in `files_`
  std::optional<posix::UserFile> file_;

  // Of a restore.
  std::vector<DirectoryEntry> entries_;
  std::size_t next_ = 0;    // position in `entries_`
  std::uint64_t left_ = 0;  // bytes of the file that is being prepared
  posix::MadeDirectories made_;
  std::optional<posix::FileSystemSync> sync_;  // of all files together; none: each is synced when it is written
  std::vector<std::unique_ptr<posix::FileReplacement>> replacements_;
};

// What protects this path.
[[nodiscard]] std::shared_ptr<ProtectedPath> make_protected_path(const std::string& path, detail::PathKind kind,
                                                                 Rank self);

}  // namespace cairn
