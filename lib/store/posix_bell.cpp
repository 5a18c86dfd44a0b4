#include "store/posix_bell.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <ctime>
#include <utility>

#include "store/posix_mapping.hpp"
#include "store/posix_paths.hpp"

namespace cairn::posix {

namespace {

constexpr std::uint64_t kBellBytes = 4096;

class FutexBell final : public Bell {
 public:
  explicit FutexBell(std::shared_ptr<Mapping> mapping) : mapping_(std::move(mapping)) {}

  void ring(Who who) override {
    std::atomic_ref(word(who)).fetch_add(1);
    ::syscall(SYS_futex, &word(who), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

  [[nodiscard]] std::uint32_t rings(Who who) const override { return std::atomic_ref(word(who)).load(); }

  void wait(Who who, std::uint32_t seen, std::chrono::microseconds limit) override {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + limit;
    while (rings(who) == seen) {
      const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(until - Clock::now());
      if (left.count() <= 0) return;
      // The kernel sleeps only if the word still is `seen`: a ring between the look and the sleep is not lost.
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
      const timespec time{static_cast<time_t>(seconds.count()), static_cast<long>((left - seconds).count())};
      ::syscall(SYS_futex, &word(who), FUTEX_WAIT, seen, &time, nullptr, 0);
    }
  }

 private:
  [[nodiscard]] std::uint32_t& word(Who who) const {
    auto* const words = reinterpret_cast<std::uint32_t*>(mapping_->bytes().data());
    return words[who == Who::head ? 0 : 1];
  }

  std::shared_ptr<Mapping> mapping_;
};

}  // namespace

Result<std::unique_ptr<Bell>> open_bell(int job, const std::string& path) {
  const auto file = open_file(job, kBell, O_RDWR | O_CREAT, path);
  if (!file) return fail(file.error());
  const auto reserved = reserve(file->get(), kBellBytes, path);
  if (!reserved) return fail(reserved.error());
  auto mapping = Mapping::map(file->get(), kBellBytes, Mapping::Access::write, path);
  if (!mapping) return fail(mapping.error());
  return std::make_unique<FutexBell>(std::move(*mapping));
}

}  // namespace cairn::posix
