#include "store/posix/posix_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace cairn::posix {

namespace {

class FileLock final : public Lock {
 public:
  explicit FileLock(std::shared_ptr<HeldLock> held) : held_(std::move(held)) {}
  ~FileLock() override {
    const std::lock_guard guard(held_->mutex);
    held_->file = Fd();
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::shared_ptr<HeldLock> held_;
};

// "process 4711", if the file says which.
std::string holder(int file) {
  std::array<char, 32> text{};
  const ssize_t length = uninterrupted([&] { return ::pread(file, text.data(), text.size(), 0); });
  const std::string_view written(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const auto digits = written.substr(0, written.find_first_not_of("0123456789"));
  return digits.empty() ? "another process" : fmt::format("process {}", digits);
}

// The lock file, locked.
Result<Fd> lock_file(const Home& home, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause{20};
  const std::string path = home.path + "/" + kLock;
  auto file = open_file(home.job.get(), kLock, O_RDWR | O_CREAT, path);
  if (!file) return file;

  const auto until = std::chrono::steady_clock::now() + patience;
  while (!try_lock_exclusive(file->get())) {
    if (errno != EWOULDBLOCK) return fail(system_error(errno, "lock", path));
    if (std::chrono::steady_clock::now() >= until) {
      return fail_in_file(
          Code::taken_over, path, fmt::format("is held by {}", holder(file->get())),
          "if that job should run, wait until it ends; if it is left over, end that process; if it is another "
          "job, give one of them another [job] name");
    }
    std::this_thread::sleep_for(kPause);
  }

  // The number is for messages only: a store too full to take it is still locked.
  const std::string number = fmt::format("{}\n", ::getpid());
  if (truncate(file->get(), 0, path)) (void)write_all(file->get(), 0, bytes_of(number), path);
  return file;
}

}  // namespace

Result<std::unique_ptr<Lock>> take_lock(const Home& home, std::chrono::milliseconds patience,
                                        const std::shared_ptr<HeldLock>& held) {
  auto file = lock_file(home, patience);
  if (!file) return fail(file.error());
  const std::lock_guard guard(held->mutex);
  held->file = std::move(*file);
  return std::make_unique<FileLock>(held);
}

Status move_lock(const Home& home, HeldLock& held) {
  const std::lock_guard guard(held.mutex);
  // If only recycle/ was removed, the lock file is still the same.
  if (!held.file.valid() || is_still_named(home.job.get(), kLock, held.file.get())) return {};
  auto file = lock_file(home, std::chrono::milliseconds(0));
  if (!file) return fail(file.error());
  held.file = std::move(*file);
  return {};
}

}  // namespace cairn::posix
