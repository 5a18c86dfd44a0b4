#include "store/posix/posix_paths.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "store/default_root.hpp"

namespace cairn::posix {

namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> bad_name(std::string_view name) {
  return fail(Code::invalid_argument,
              fmt::format("'{}' is not a name in a store; write 'file' or 'directory/file' without a leading '.', and "
                          "not recycle, lock or bell",
                          name));
}

Status check_job(const std::string& job) {
  if (is_plain(job)) return {};
  return fail(Code::invalid_argument,
              fmt::format("'{}' is not a job's name; write one path component without a leading '.'", job));
}

// The user chose the root, so it may be a symbolic link; nothing below it may be one.
Fd open_root(const std::string& root) {
  return Fd(uninterrupted([&] { return ::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
}

// A directory that was opened, if it is the user's and nobody else may write to it.
Result<Fd> if_owned(Result<Fd> directory, const std::string& path) {
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  if (!directory) return directory;
  const auto status = status_of(directory->get(), path);
  if (!status) return fail(status.error());
  const auto ours = check_user(*status, path, Code::io, "choose another job name or another place");
  if (!ours) return fail(ours.error());
  if ((status->st_mode & kOthersWrite) != 0) {
    return fail_in_file(
        Code::io, path,
        fmt::format("other users can write to it: it has mode {:o}, should have mode 700", status->st_mode & 07777U),
        fmt::format("check its contents, then run chmod 700 {}", path));
  }
  return directory;
}

// A directory that is nobody's but this user's, made where it is missing.
Result<Fd> open_private(int above, const std::string& name, const std::string& path) {
  if (auto made = make_directory(above, name, path); !made) return fail(made.error());
  auto opened = open_directory(above, name, path);
  if (!opened) return opened;
  const auto status = status_of(opened->get(), path);
  if (!status) return fail(status.error());
  const auto ours = check_user(*status, path, Code::io,
                               "its owner must remove it; or set [storage] local to a directory of your own");
  if (!ours) return fail(ours.error());
  if ((status->st_mode & (S_IRWXG | S_IRWXO)) == 0) return opened;
  return fail_in_file(Code::io, path,
                      fmt::format("is open to other users (mode {:o}), should be mode 700", status->st_mode & 07777U),
                      fmt::format("check its contents, then run chmod 700 {}", path));
}

// A path below the default root must not lead through a link, or through a directory that others can use: anybody may
// make directories beside the default root.
Result<Fd> open_default_root(const fs::path& below) {
  const fs::path root = default_node_root();
  const std::string memory = root.parent_path();
  Fd above = open_root(memory);
  if (!above.valid()) return fail(system_error(errno, "open the directory", memory));
  auto opened = open_private(above.get(), root.filename(), root);
  std::string path = root;
  for (const fs::path& step : below) {
    if (!opened || step.empty()) break;
    path += "/" + step.string();
    opened = open_private(opened->get(), step, path);
  }
  return opened;
}

// The directories that must be made to get this one, itself included.
std::vector<fs::path> missing_directories(const fs::path& root) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path at = root; !at.empty() && !fs::exists(at, error); at = at.parent_path()) missing.push_back(at);
  return missing;
}

// A new directory's name is durable once the directory above it is synced. If that one may be entered and written to,
// but not read, this is impossible and is left out.
Status sync_above(const fs::path& directory) {
  const std::string above = directory.has_parent_path() ? directory.parent_path() : ".";
  const Fd opened = open_root(above);
  if (opened.valid()) return sync_directory(opened.get(), above);
  return errno == EACCES ? Status{} : fail(system_error(errno, "open the directory", above));
}

// Any other root is used as it is, and made if it is missing.
Result<Fd> open_other_root(const std::string& root) {
  const std::vector<fs::path> missing = missing_directories(root);
  std::error_code error;
  do {
    error.clear();
    fs::create_directories(root, error);
  } while (error == std::errc::interrupted);
  if (error) return fail(system_error(error.value(), "make the directory", root));
  for (const fs::path& made : missing) {
    if (auto synced = sync_above(made); !synced) return fail(synced.error());
  }
  Fd opened = open_root(root);
  if (!opened.valid()) return fail(system_error(errno, "open the directory", root));
  return opened;
}

// The path relative to the default root, as plain components; nothing: it is not below the default root.
std::optional<fs::path> place_in_default_root(const std::string& root) {
  const fs::path own = default_node_root();
  const fs::path normal = fs::path(root + "/").lexically_normal().parent_path();
  if (normal == own) return fs::path();
  const fs::path below = normal.lexically_relative(own);
  if (below.empty() || *below.begin() == "..") return std::nullopt;
  return below;
}

}  // namespace

bool is_plain(std::string_view component) {
  return !component.empty() && component.front() != '.' &&
         component.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

bool is_reserved(std::string_view component) {
  return component == kRecycle || component == kLock || component == kBell;
}

Result<OpenedJob> open_job(const std::string& root, const std::string& job) {
  if (const auto plain = check_job(job); !plain) return fail(plain.error());
  const auto below = place_in_default_root(root);
  auto above = below ? open_default_root(*below) : open_other_root(root);
  if (!above) return fail(above.error());

  const std::string path = root + "/" + job;
  const auto made = make_directory(above->get(), job, path);
  if (!made) return fail(made.error());
  auto opened = if_owned(open_directory(above->get(), job, path), path);
  if (!opened) return fail(opened.error());
  return OpenedJob{std::move(*above), std::move(*opened)};
}

Result<Fd> open_existing_job(const std::string& root, const std::string& job) {
  if (const auto plain = check_job(job); !plain) return fail(plain.error());
  const Fd above = open_root(root);
  if (!above.valid()) return fail(system_error(errno, "open the directory", root));
  return open_directory(above.get(), job, root + "/" + job);
}

Result<Fd> open_own_job(const std::string& root, const std::string& job) {
  return if_owned(open_existing_job(root, job), root + "/" + job);
}

Result<Fd> open_recycle(int job, const std::string& path) {
  if (const auto made = make_directory(job, kRecycle, path); !made) return fail(made.error());
  return if_owned(open_directory(job, kRecycle, path), path);
}

Result<Place> locate(int job, const std::string& job_path, const FileName& name, Missing directory) {
  const std::string path = job_path + "/" + name.path;
  const std::size_t slash = name.path.find('/');
  const std::string first = name.path.substr(0, slash);
  if (!is_plain(first) || is_reserved(first)) return bad_name(name.path);

  if (slash == std::string::npos) {
    Fd same(uninterrupted([&] { return ::fcntl(job, F_DUPFD_CLOEXEC, 0); }));
    if (!same.valid()) return fail(system_error(errno, "open the directory", job_path));
    return Place{std::move(same), first, path, true};
  }

  const std::string file = name.path.substr(slash + 1);
  if (!is_plain(file)) return bad_name(name.path);
  const std::string directory_path = job_path + "/" + first;
  if (directory == Missing::make) {
    const auto made = make_directory(job, first, directory_path);
    if (!made) return fail(made.error());
  }
  auto opened = open_directory(job, first, directory_path);
  if (!opened && opened.error().code == Code::not_found) return fail(system_error(ENOENT, "open", path));
  if (!opened) return fail(opened.error());
  return Place{std::move(*opened), file, path, false};
}

Result<std::string> check(const std::string& job_path, const DirName& name) {
  if (!is_plain(name.path) || is_reserved(name.path)) return bad_name(name.path);
  return job_path + "/" + name.path;
}

}  // namespace cairn::posix
