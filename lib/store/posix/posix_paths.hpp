// Where things are in a PosixStore: the job's directory below its root, and the directory and last component
// of a name in it. Every step is a plain component, opened relative to the one before.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "store/posix/posix_file.hpp"
#include "store/store.hpp"

namespace cairn::posix {

inline constexpr const char* kRecycle = "recycle";
inline constexpr const char* kLock = "lock";
inline constexpr const char* kBell = "bell";

// Whether this can be one component of a name: not empty, not hidden, without '/' and NUL.
[[nodiscard]] bool is_plain(std::string_view component);
// Whether a name at the top of a store is the store's own.
[[nodiscard]] bool is_reserved(std::string_view component);

struct OpenedJob {
  Fd root;  // the directory that the job's directory is in
  Fd job;
};
// Makes and opens <root>/<job>: root's missing parents too, the job's directory with mode 0700. One that
// belongs to another user, or that others may write to, is refused. The default root, and what is below it, must be
// the user's alone; any other root is used as it is. The job's name in the root is not synced.
[[nodiscard]] Result<OpenedJob> open_job(const std::string& root, const std::string& job);
// Opens the store's directory of retired files in the job's directory; makes it if it is missing. Refused for the same
// reasons as the job's directory.
[[nodiscard]] Result<Fd> open_recycle(int job, const std::string& path);
// Opens <root>/<job> if it is there and is the user's alone.
[[nodiscard]] Result<Fd> open_own_job(const std::string& root, const std::string& job);
// Opens <root>/<job> as it is, whoever it belongs to.
[[nodiscard]] Result<Fd> open_existing_job(const std::string& root, const std::string& job);

// A file's directory, open, and its name there.
struct Place {
  Fd directory;
  std::string file;
  std::string path;     // for messages
  bool at_top = false;  // the directory is the job's
};
enum class Missing { is_an_error, make };
[[nodiscard]] Result<Place> locate(int job, const std::string& job_path, const FileName& name, Missing directory);

// A directory in the job's: one plain component that is not reserved. Gives its path, for messages.
[[nodiscard]] Result<std::string> check(const std::string& job_path, const DirName& name);

}  // namespace cairn::posix
