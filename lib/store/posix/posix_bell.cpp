#include "store/posix/posix_bell.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <ctime>
#include <mutex>
#include <optional>
#include <utility>

#include "store/posix/posix_mapping.hpp"
#include "store/posix/posix_paths.hpp"

namespace cairn::posix {

namespace {

constexpr std::uint64_t kBellBytes = 4096;

// The two counters, and which file they are in.
struct Counters {
  FileId id;
  std::shared_ptr<Mapping> mapping;

  [[nodiscard]] std::uint32_t& of(Bell::Who who) const {
    auto* const words = reinterpret_cast<std::uint32_t*>(mapping->bytes().data());
    return words[who == Bell::Who::head ? 0 : 1];
  }
  [[nodiscard]] std::uint32_t count(Bell::Who who) const { return std::atomic_ref(of(who)).load(); }
};

Result<Counters> map_counters(const Fd& file, const std::string& path) {
  const auto status = status_of(file.get(), path);
  if (!status) return fail(status.error());
  auto mapping = Mapping::map(file.get(), kBellBytes, Mapping::Access::write, path);
  if (!mapping) return fail(mapping.error());
  return Counters{{status->st_dev, status->st_ino}, std::move(*mapping)};
}

std::string path_of(const JobPlace& place) { return place.root + "/" + place.job + "/" + kBell; }

// The bell that is now in the store's directory, if it is not `known` and is ready.
std::optional<Counters> find_other(const JobPlace& place, const FileId& known) {
  const std::string path = path_of(place);
  const auto there = status_at(AT_FDCWD, path);
  if (!there || FileId{there->st_dev, there->st_ino} == known) return std::nullopt;
  const auto directory = open_own_job(place.root, place.job);
  if (!directory) return std::nullopt;
  const auto file = open_file(directory->get(), kBell, O_RDWR, path);
  if (!file) return std::nullopt;
  const auto status = status_of(file->get(), path);
  const bool ready = status && status->st_uid == ::geteuid() && std::cmp_greater_equal(status->st_size, kBellBytes);
  if (!ready) return std::nullopt;
  auto counters = map_counters(*file, path);
  return counters ? std::optional(std::move(*counters)) : std::nullopt;
}

class FutexBell final : public Bell {
 public:
  FutexBell(JobPlace place, Counters counters) : place_(std::move(place)), now_{std::move(counters), {}} {}

  void ring(Who who) override {
    const Now now = look();
    std::uint32_t& word = now.counters.of(who);
    std::atomic_ref(word).fetch_add(1);
    ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

  // Called in every snapshot(), due or not, so it only reads memory. It does not look for another bell file: ring() and
  // wait() do that.
  [[nodiscard]] std::uint32_t rings(Who who) const override {
    const std::lock_guard guard(mutex_);
    return now_.total(who);
  }

  void wait(Who who, std::uint32_t seen, std::chrono::microseconds limit) override {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::nanoseconds kBetweenLooks = std::chrono::milliseconds(50);
    const auto until = Clock::now() + limit;
    for (Now now = look(); now.total(who) == seen; now = look()) {
      const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(until - Clock::now());
      if (left.count() <= 0) return;
      const auto nap = std::min(left, kBetweenLooks);
      // The kernel sleeps only if the word still is `seen`: a ring between the look and the sleep is not lost.
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(nap);
      const timespec time{static_cast<time_t>(seconds.count()), static_cast<long>((nap - seconds).count())};
      ::syscall(SYS_futex, &now.counters.of(who), FUTEX_WAIT, seen - now.earlier_of(who), &time, nullptr, 0);
    }
  }

 private:
  // The file in use, and the rings in earlier files, which are added to its counters.
  struct Now {
    Counters counters;
    std::array<std::uint32_t, 2> earlier;

    [[nodiscard]] std::uint32_t earlier_of(Who who) const { return earlier[who == Who::head ? 0 : 1]; }
    [[nodiscard]] std::uint32_t total(Who who) const { return counters.count(who) + earlier_of(who); }
  };

  Now look() const {
    const std::lock_guard guard(mutex_);
    auto other = find_other(place_, now_.counters.id);
    if (!other) return now_;
    Now next{std::move(*other), {}};
    for (const Who who : {Who::head, Who::ranks}) {
      next.earlier[who == Who::head ? 0 : 1] = now_.total(who) + 1 - next.counters.count(who);
    }
    return now_ = std::move(next);
  }

  const JobPlace place_;
  mutable std::mutex mutex_;
  mutable Now now_;
};

}  // namespace

Result<std::unique_ptr<Bell>> open_bell(int directory, const JobPlace& place) {
  const std::string path = path_of(place);
  const auto file = open_file(directory, kBell, O_RDWR | O_CREAT, path);
  if (!file) return fail(file.error());
  const auto reserved = reserve(file->get(), kBellBytes, path);
  if (!reserved) return fail(reserved.error());
  auto counters = map_counters(*file, path);
  if (!counters) return fail(counters.error());
  return std::make_unique<FutexBell>(place, std::move(*counters));
}

}  // namespace cairn::posix
