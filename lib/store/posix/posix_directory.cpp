// Directories: what is in them, and their removal.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "store/posix/posix_file.hpp"

namespace cairn::posix {

namespace {

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

Status unlink(int directory, const std::string& name, int flags, const std::string& path) {
  if (uninterrupted([&] { return ::unlinkat(directory, name.c_str(), flags); }) == 0 || errno == ENOENT) return {};
  return fail(system_error(errno, "remove", path));
}

}  // namespace

Result<std::vector<std::string>> names_in(int directory, const std::string& path) {
  // Opened anew: a stream owns its descriptor, and its position must not be shared with another thread's.
  const int own = uninterrupted([&] { return ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (own < 0) return fail(system_error(errno, "list", path));
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(own));
  if (!stream) {
    const int number = errno;
    ::close(own);
    return fail(system_error(number, "list", path));
  }

  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr && errno == EINTR) continue;
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) return fail(system_error(errno, "list", path));
  std::sort(names.begin(), names.end());
  return names;
}

bool is_still_named(int directory, const std::string& name, int file) {
  const auto opened = status_of(file, name);
  const auto named = status_at(directory, name);
  return opened && named && opened->st_dev == named->st_dev && opened->st_ino == named->st_ino;
}

Status remove_file(int directory, const std::string& name, Pages pages, const std::string& path) {
  Fd file;
  if (pages == Pages::release) {
    // Emptied only if nobody reads it: a reader's mapping would lose its pages. The lock is held until the name is
    // gone, so that a reader that opens the file now sees that it is removed.
    auto opened = open_file(directory, name, O_RDWR, path);
    if (opened) file = std::move(*opened);
    const auto status = file.valid() ? status_at(directory, name) : std::nullopt;
    const bool alone = status && !has_other_names(*status);
    if (alone && try_lock_exclusive(file.get()) && is_still_named(directory, name, file.get())) {
      auto emptied = truncate(file.get(), 0, path);
      if (!emptied) return emptied;
    }
  }
  return unlink(directory, name, 0, path);
}

Status remove_tree(int directory, const std::string& name, Pages pages, const std::string& path) {
  const auto tree = open_directory(directory, name, path);
  if (!tree) return tree.error().code == Code::not_found ? Status{} : fail(tree.error());
  const auto names = names_in(tree->get(), path);
  if (!names) return fail(names.error());

  for (const std::string& inner : *names) {
    const auto status = status_at(tree->get(), inner);
    if (!status) continue;
    const std::string inner_path = path + "/" + inner;
    const auto removed = S_ISDIR(status->st_mode)   ? remove_tree(tree->get(), inner, pages, inner_path)
                         : S_ISREG(status->st_mode) ? remove_file(tree->get(), inner, pages, inner_path)
                                                    : unlink(tree->get(), inner, 0, inner_path);
    if (!removed) return removed;
  }
  return unlink(directory, name, AT_REMOVEDIR, path);
}

}  // namespace cairn::posix
