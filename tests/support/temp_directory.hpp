// A directory of a test's own, removed with all that is in it when the test is done.
#pragma once

#include <filesystem>
#include <string>

namespace cairn::test {

class TempDirectory {
 public:
  // Below `parent`, which must exist: "/dev/shm" is tmpfs, "/tmp" should be a disk.
  explicit TempDirectory(const std::string& parent);
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace cairn::test
