// A file system in memory that holds little, unmounted when the test is done.
#pragma once

#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "support/temp_directory.hpp"

namespace cairn::test {

class SmallTmpfs {
 public:
  // `options` of mount: "size=2m", "nr_inodes=20".
  explicit SmallTmpfs(const std::string& options)
      : mounted_(::mount("tmpfs", path().c_str(), "tmpfs", 0, options.c_str()) == 0) {
    EXPECT_TRUE(mounted_) << "this test mounts a tmpfs (" << options
                          << ") and must run as root where that is permitted: " << std::strerror(errno);
  }
  ~SmallTmpfs() {
    if (mounted_) ::umount2(path().c_str(), MNT_DETACH);
  }
  SmallTmpfs(const SmallTmpfs&) = delete;
  SmallTmpfs& operator=(const SmallTmpfs&) = delete;

  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] std::string path() const { return directory_.path(); }

 private:
  TempDirectory directory_{"/tmp"};
  bool mounted_;
};

}  // namespace cairn::test
