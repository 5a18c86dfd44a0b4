#include "store/posix_lock.hpp"

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
  FileLock(std::shared_ptr<Home> home, Fd file) : home_(std::move(home)), file_(std::move(file)) {
    home_->locked = true;
  }
  ~FileLock() override { home_->locked = false; }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::shared_ptr<Home> home_;
  Fd file_;
};

// "process 4711", as far as the file says.
std::string holder(int file) {
  std::array<char, 32> text{};
  const ssize_t length = uninterrupted([&] { return ::pread(file, text.data(), text.size(), 0); });
  const std::string_view written(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const auto digits = written.substr(0, written.find_first_not_of("0123456789"));
  return digits.empty() ? "another process" : fmt::format("process {}", digits);
}

}  // namespace

Result<std::unique_ptr<Lock>> take_lock(const std::shared_ptr<Home>& home, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause{20};
  const std::string path = home->path + "/" + kLock;
  auto file = open_file(home->job.get(), kLock, O_RDWR | O_CREAT, path);
  if (!file) return fail(file.error());

  const auto until = std::chrono::steady_clock::now() + patience;
  while (!try_lock_exclusive(file->get())) {
    if (errno != EWOULDBLOCK) return fail(system_error(errno, "lock", path));
    if (std::chrono::steady_clock::now() >= until) {
      return fail(Code::taken_over, fmt::format("{}: is held by {}", path, holder(file->get())),
                  "a job of this name is running; wait for its end or give this one another name");
    }
    std::this_thread::sleep_for(kPause);
  }

  // The number is for messages only: a store too full to take it is still locked.
  const std::string number = fmt::format("{}\n", ::getpid());
  if (truncate(file->get(), 0, path)) (void)write_all(file->get(), 0, bytes_of(number), path);
  return std::make_unique<FileLock>(home, std::move(*file));
}

}  // namespace cairn::posix
