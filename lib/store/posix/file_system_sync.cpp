#include "store/posix/file_system_sync.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <charconv>
#include <string_view>
#include <utility>

namespace cairn::posix {
namespace {

// Before, Linux reported no error of a file by syncfs(): it was on no disk, and nobody knew.
bool reports_errors() {
  static constexpr std::pair kSince{5, 8};
  static const bool since = [] {
    struct utsname system = {};
    if (::uname(&system) != 0) return false;
    const std::string_view release(system.release);  // "5.8.0-63-generic"
    int major = 0, minor = 0;
    const auto end = std::from_chars(release.data(), release.data() + release.size(), major).ptr;
    if (end == release.data() + release.size() || *end != '.') return false;
    std::from_chars(end + 1, release.data() + release.size(), minor);
    return std::pair(major, minor) >= kSince;
  }();
  return since;
}

// Such a one syncs the cache of this host, and does not ask its server to.
bool is_fuse(int directory) {
  struct statfs found = {};
  return uninterrupted([&] { return ::fstatfs(directory, &found); }) != 0 || found.f_type == FUSE_SUPER_MAGIC;
}

}  // namespace

std::optional<FileSystemSync> FileSystemSync::open(const std::string& directory) {
  if (!reports_errors()) return {};
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  Fd opened(uninterrupted([&] { return ::open(directory.c_str(), kFlags); }));
  struct stat status = {};
  if (!opened.valid() || ::fstat(opened.get(), &status) != 0 || is_fuse(opened.get())) return {};
  return FileSystemSync(std::move(opened), status.st_dev);
}

bool FileSystemSync::sync() const {
  return uninterrupted([&] { return ::syncfs(directory_.get()); }) == 0;
}

}  // namespace cairn::posix
