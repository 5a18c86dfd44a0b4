// A file of the application that snapshots contain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.hpp"
#include "session/protected_path.hpp"
#include "store/posix/user_file.hpp"

namespace cairn {

class ProtectedFile : public ProtectedPath {
 public:
  // `self`: ranks that protect one path do not disturb each other.
  ProtectedFile(const std::string& path, Rank self);

  [[nodiscard]] std::string text(const std::string& region) const override;
  [[nodiscard]] Status open() override;
  [[nodiscard]] Status read(std::uint64_t offset, MutableBytes into) override;
  void close() override { file_.reset(); }
  [[nodiscard]] std::string type_name() const override;

 protected:
  [[nodiscard]] const std::string& path() const { return path_; }
  // Requires: it is open.
  [[nodiscard]] const posix::UserFile& file() const { return *file_; }
  [[nodiscard]] Status apply() override { return replacement_->apply(); }

 private:
  [[nodiscard]] Status begin(std::uint64_t size_bytes, const RegionInfo* stored) override;
  [[nodiscard]] Status add(Bytes bytes) override { return replacement_->add(bytes); }
  [[nodiscard]] Status finish() override { return replacement_->finish(); }
  void drop() override { replacement_.reset(); }

  std::string path_;
  std::string tag_;
  std::optional<posix::UserFile> file_;
  std::optional<posix::FileReplacement> replacement_;
};

// Tells apart what ranks prepare at one path.
[[nodiscard]] std::string tag_of(Rank self);

}  // namespace cairn
