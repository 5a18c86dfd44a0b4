#include "store/key_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "store/posix/posix_file.hpp"

namespace cairn {
namespace {

constexpr const char* kHowToMake =
    "if the job has snapshots, put their key back; for a new job, head -c 32 /dev/urandom > FILE; chmod 600 FILE";

Status check_private(const struct stat& status, const std::string& path) {
  if (auto ours = posix::check_user(status, path, Code::config); !ours) return ours;
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) == 0) return {};
  return fail_in_file(
      Code::config, path,
      fmt::format("is open to other users (mode {:o}), should be mode 600", status.st_mode & 07777U),
      fmt::format("run chmod 600 {}; if others may have read the key, change it, which gives up the present snapshots",
                  path));
}

}  // namespace

Result<SecretKey> read_key_file(const std::string& path) {
  auto file = posix::open_file(AT_FDCWD, path, O_RDONLY, path);
  if (!file) {
    Error error = file.error();
    const bool missing = error.code == Code::not_found;
    return fail(Code::config, std::move(error.message), missing ? kHowToMake : std::move(error.hint));
  }
  const auto status = posix::status_of(file->get(), path);
  if (!status) return fail(status.error());
  if (auto ours = check_private(*status, path); !ours) return fail(ours.error());
  if (std::cmp_greater(status->st_size, SecretKey::kMostBytes)) {
    return fail_in_file(
        Code::config, path,
        fmt::format("it is {} bytes long, should be at most {}", status->st_size, SecretKey::kMostBytes), kHowToMake);
  }
  Buffer bytes(static_cast<std::size_t>(status->st_size));
  const auto read = posix::read_exactly(file->get(), 0, bytes, path);
  auto key = SecretKey::from(std::move(bytes));  // which wipes them, whatever they are
  if (!read) return fail(read.error());
  if (!key) return fail_in_file(Code::config, path, key.error().message, kHowToMake);
  return key;
}

}  // namespace cairn
