#include "store/posix/posix_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdint>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/plain_text.hpp"
#include "base/process_state.hpp"

namespace cairn::posix {

namespace {

class FileLock final : public Lock {
 public:
  explicit FileLock(std::shared_ptr<HeldLock> held) : held_(std::move(held)) {}
  ~FileLock() override {
    const std::lock_guard guard(held_->mutex);
    held_->file = UnsharedFd();
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::shared_ptr<HeldLock> held_;
};

constexpr std::size_t kMostHolderBytes = 300;

std::string this_host() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// What the lock file says, for messages only: a process, when it was started, and its host.
std::string text_of_this_process() {
  const auto state = look_at_process(::getpid());
  return fmt::format("{} {} {}\n", ::getpid(), state ? state->started : 0, this_host());
}

// "process 4711", as far as the file says. The process may have ended while another holds the file, such as a child of
// an older Cairn.
std::string holder(int file) {
  std::array<char, kMostHolderBytes> text{};
  const ssize_t length = uninterrupted([&] { return ::pread(file, text.data(), text.size(), 0); });
  std::istringstream written(std::string(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0));
  std::int32_t process = 0;
  std::uint64_t started = 0;
  std::string host;
  if (!(written >> process)) return "another process";
  if (!(written >> started >> host)) return fmt::format("process {}", process);
  if (host != this_host()) return fmt::format("process {} on host {}", process, plain_text(host, kMostHolderBytes));
  const auto state = look_at_process(process);
  if (state && state->started == started) return fmt::format("process {}", process);
  return fmt::format("a process that process {} started, which has ended", process);
}

// The lock file, locked.
Result<UnsharedFd> lock_file(const Home& home, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause{20};
  const std::string path = home.path + "/" + kLock;
  auto opened = open_file(home.job.get(), kLock, O_RDWR | O_CREAT, path);
  if (!opened) return fail(opened.error());
  UnsharedFd file(std::move(*opened));

  const auto until = std::chrono::steady_clock::now() + patience;
  while (!try_lock_exclusive(file.get())) {
    if (errno != EWOULDBLOCK) return fail(system_error(errno, "lock", path));
    if (std::chrono::steady_clock::now() >= until) {
      return fail_in_file(
          Code::taken_over, path, fmt::format("is held by {}", holder(file.get())),
          "if that job should run, wait until it ends; if it is left over, end that process; if it is another "
          "job, give one of them another [job] name");
    }
    std::this_thread::sleep_for(kPause);
  }

  // A store too full to take it is still locked.
  if (truncate(file.get(), 0, path)) (void)write_all(file.get(), 0, bytes_of(text_of_this_process()), path);
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
