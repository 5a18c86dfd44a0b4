#include "output_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace ckpt_tool {
namespace {

cairn::Error system_error(int number, const char* doing, const std::string& path) {
  const bool full = number == ENOSPC || number == EDQUOT;
  return {full ? cairn::Code::no_space : cairn::Code::io,
          fmt::format("{}: cannot {}: {}", path, doing, std::generic_category().message(number)),
          full ? "name a place with more room" : ""};
}

}  // namespace

std::string part_of(const std::string& path) { return path + ".part"; }

cairn::Status check_is_free(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, error))) return {};
  return cairn::fail(cairn::Code::invalid_argument, path + " exists", "remove it, or give another name");
}

cairn::Result<OutputFile> OutputFile::open(const std::string& path, std::uint64_t bytes, Part part) {
  if (auto free = check_is_free(path); !free) return cairn::fail(free.error());
  const std::string name = part_of(path);
  const int flags = part == Part::make ? O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC : O_RDWR | O_CLOEXEC;
  const int file = ::open(name.c_str(), flags, 0666);
  if (file < 0) return cairn::fail(system_error(errno, "make", name));
  // Without room, a write to the mapping would be a signal.
  int failed = bytes == 0 ? 0 : ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  void* data = nullptr;
  if (failed == 0 && bytes > 0) {
    data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) failed = errno;
  }
  ::close(file);
  if (failed != 0) {
    ::unlink(name.c_str());
    return cairn::fail(system_error(failed, fmt::format("reserve {} bytes", bytes).c_str(), name));
  }
  return OutputFile(path, static_cast<std::byte*>(data), bytes);
}

OutputFile::OutputFile(std::string path, std::byte* data, std::uint64_t bytes)
    : path_(std::move(path)), data_(data), size_(bytes) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(other.size_),
      open_(std::exchange(other.open_, false)) {}

OutputFile::~OutputFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
  if (open_) ::unlink(part_of(path_).c_str());
}

cairn::Status OutputFile::commit() {
  if (data_ != nullptr && ::munmap(std::exchange(data_, nullptr), size_) != 0)
    return cairn::fail(system_error(errno, "write", part_of(path_)));
  if (auto free = check_is_free(path_); !free) return free;
  if (::rename(part_of(path_).c_str(), path_.c_str()) != 0) return cairn::fail(system_error(errno, "name", path_));
  open_ = false;
  return {};
}

}  // namespace ckpt_tool
