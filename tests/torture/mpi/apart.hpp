// Processes, mounts and shared memory of a scenario's own, where this user may have that: whatever becomes of it, also
// when it is killed, nothing of it is left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace cairn::torture {

// Runs `play` in a process of its own, and returns its exit code. Its /dev/shm is its own where that is permitted;
// elsewhere it runs as it is.
[[nodiscard]] int run_apart(const std::function<int()>& play);
// Whether this process runs so.
[[nodiscard]] bool is_apart();

// A file system in memory of so many bytes at an empty directory, which is unmounted again.
class SmallFileSystem {
 public:
  SmallFileSystem(std::filesystem::path place, std::uintmax_t bytes);
  ~SmallFileSystem();
  SmallFileSystem(const SmallFileSystem&) = delete;
  SmallFileSystem& operator=(const SmallFileSystem&) = delete;
  [[nodiscard]] bool is_mounted() const { return mounted_; }

 private:
  std::filesystem::path place_;
  bool mounted_;
};

}  // namespace cairn::torture
