#include "store/posix/user_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "store/posix/posix_file.hpp"
#include "store/posix/user_file.hpp"

namespace cairn::posix {
namespace {

constexpr mode_t kPermissionBits = 0777;

Result<struct stat> look_at(const std::string& path) {
  struct stat status = {};
  if (uninterrupted([&] { return ::lstat(path.c_str(), &status); }) == 0) return status;
  Error error = system_error(errno, "look at", path);
  if (error.code == Code::not_found) error.code = Code::io;
  return fail(std::move(error));
}

tl::unexpected<Error> refused(const struct stat& status, const std::string& path) {
  const char* const what =
      S_ISLNK(status.st_mode) ? "is a symbolic link, which Cairn does not follow" : "is no regular file or directory";
  return fail_in_file(Code::io, path, what, "protect_directory() is for directories with regular files");
}

// Names in a directory, in order.
Result<std::vector<std::string>> names_in(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error); !error && it != std::filesystem::directory_iterator();
       it.increment(error))
    names.push_back(it->path().filename().string());
  if (error) return fail(system_error(error.value(), "read the directory", path));
  std::ranges::sort(names);
  return names;
}

class Walk {
 public:
  explicit Walk(const std::string& root) : root_(root) {}

  Status visit(const std::string& path) {
    const std::string whole = path.empty() ? root_ : root_ + "/" + path;
    const auto status = look_at(whole);
    if (!status) return fail(status.error());
    FoundEntry entry{path, S_ISDIR(status->st_mode), status->st_mode & kPermissionBits};
    if (!entry.is_directory) {
      if (!S_ISREG(status->st_mode)) return refused(*status, whole);
      if (path.empty()) return fail_in_file(Code::io, whole, "is not a directory", "protect_file() is for files");
      entry.size_bytes = static_cast<std::uint64_t>(status->st_size);
      entry.changed_s = status->st_mtim.tv_sec;
      entry.changed_ns = status->st_mtim.tv_nsec;
      found_.push_back(std::move(entry));
      return {};
    }
    found_.push_back(std::move(entry));
    const auto names = names_in(whole);
    if (!names) return fail(names.error());
    for (const std::string& name : *names) {
      if (is_temporary_name(name)) continue;
      if (auto done = visit(path.empty() ? name : path + "/" + name); !done) return done;
    }
    return {};
  }
  [[nodiscard]] std::vector<FoundEntry> take() { return std::move(found_); }

 private:
  std::string root_;
  std::vector<FoundEntry> found_;
};

}  // namespace

Result<std::vector<FoundEntry>> walk(const std::string& path) {
  Walk walk(path);
  if (auto done = walk.visit({}); !done) return fail(done.error());
  return walk.take();
}

Status MadeDirectories::need(const std::string& path) {
  constexpr mode_t kOwnerOnly = 0700;
  if (uninterrupted([&] { return ::mkdir(path.c_str(), kOwnerOnly); }) == 0) {
    made_.push_back(path);
    return {};
  }
  if (errno != EEXIST) {
    Error error = system_error(errno, "make the directory", path);
    if (error.code == Code::not_found) error.code = Code::io;
    return fail(std::move(error));
  }
  const auto status = look_at(path);
  if (!status) return fail(status.error());
  if (S_ISDIR(status->st_mode)) return {};
  const char* const what =
      S_ISLNK(status->st_mode) ? "is a symbolic link, which Cairn does not follow" : "is not a directory";
  return fail_in_file(Code::io, path, what, "move it away: the snapshot has a directory there");
}

void MadeDirectories::undo() {
  while (!made_.empty()) {
    (void)::rmdir(made_.back().c_str());
    made_.pop_back();
  }
}

Status set_permissions(const std::string& directory, std::uint32_t mode) {
  if (uninterrupted([&] { return ::chmod(directory.c_str(), mode); }) == 0) return {};
  return fail(system_error(errno, "set the permissions of", directory));
}

}  // namespace cairn::posix
