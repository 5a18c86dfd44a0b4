#include "rehearsal_scratch.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ckpt_run {
namespace {

namespace fs = std::filesystem;
using cairn::Code;
using cairn::Config;
using cairn::Result;

constexpr std::size_t kMarkDigits = 8;
constexpr std::string_view kScratchRuns[] = {"undisturbed", "failing", "again"};

std::string mark_prefix(const Config& config, const std::string& host) {
  return fmt::format(".{}.rehearsal-{}-", config.job.name, host);
}

bool is_mark_number(std::string_view text) {
  return text.size() == kMarkDigits &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string mark_number_of(const std::string& mark) { return mark.substr(mark.size() - kMarkDigits); }

// The lock of a mark, which children inherit; nothing: it is another's, or the mark is not there any more.
std::optional<int> lock_of(const fs::path& mark, int flags) {
  const fs::path owner = mark / "owner";
  const int file = ::open(owner.c_str(), O_RDWR | O_NOFOLLOW | flags, 0600);
  if (file < 0) return {};
  struct stat locked {
  }, named{};
  // In between, its rehearsal may have ended, and another one may have removed it.
  if (::flock(file, LOCK_EX | LOCK_NB) == 0 && ::fstat(file, &locked) == 0 && ::lstat(owner.c_str(), &named) == 0 &&
      locked.st_ino == named.st_ino && locked.st_dev == named.st_dev)
    return file;
  ::close(file);
  return {};
}

std::vector<fs::path> marks_in(const Config& config, const std::string& host) {
  const std::string prefix = mark_prefix(config, host);
  std::vector<fs::path> marks;
  std::error_code error;
  for (fs::directory_iterator it(config.storage.global, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(prefix) && is_mark_number(std::string_view(name).substr(prefix.size())))
      marks.push_back(it->path());
  }
  return marks;
}

}  // namespace

RehearsalScratch::RehearsalScratch(const Config& config, std::string mark, int lock)
    : config_(&config), mark_(std::move(mark)), lock_(lock) {
  remove_stores();
}

RehearsalScratch::RehearsalScratch(RehearsalScratch&& other) noexcept
    : config_(other.config_), mark_(std::exchange(other.mark_, {})), lock_(std::exchange(other.lock_, -1)) {}

RehearsalScratch::~RehearsalScratch() {
  if (mark_.empty()) return;
  remove_stores();
  std::error_code error;
  fs::remove_all(mark_, error);
  ::close(lock_);
}

std::string RehearsalScratch::job(std::string_view run) const {
  constexpr std::size_t kLongestName = 90;  // so that the whole is a name of a job
  return fmt::format("{}.rehearsal-{}-{}", config_->job.name.substr(0, kLongestName), mark_number_of(mark_), run);
}

std::string RehearsalScratch::directory(std::string_view run) const { return fmt::format("{}/{}", mark_, run); }

// On this host. Those of other hosts are empty once a run has ended, and the next run of these names starts fresh.
void RehearsalScratch::remove_stores() const {
  std::error_code error;
  for (const std::string_view run : kScratchRuns) {
    const std::string name = job(run);
    fs::remove_all(directory(run), error);
    fs::remove_all(fs::path(config_->storage.global) / name, error);
    fs::remove_all(fs::path(config_->storage.local) / name, error);
    for (fs::directory_iterator it(config_->storage.local, error), end; !error && it != end; it.increment(error))
      if (it->path().filename().string().starts_with("node")) fs::remove_all(it->path() / name, error);
  }
}

Result<RehearsalScratch> RehearsalScratch::make(const Config& config, const std::string& host) {
  std::optional<RehearsalScratch> taken;
  for (const fs::path& mark : marks_in(config, host)) {
    const auto lock = lock_of(mark, O_CREAT | O_CLOEXEC);
    if (!lock) continue;
    RehearsalScratch left(config, mark.string(), *lock);
    if (taken) continue;  // this one is removed
    ::fcntl(*lock, F_SETFD, 0);
    taken.emplace(std::move(left));
  }
  if (taken) return std::move(*taken);

  std::error_code error;
  fs::create_directories(config.storage.global, error);
  std::random_device random;
  constexpr int kMarkTries = 20;
  for (int i = 0; i < kMarkTries; ++i) {
    const fs::path mark =
        fs::path(config.storage.global) / fmt::format("{}{:08x}", mark_prefix(config, host), random() & 0xffffffffU);
    if (!fs::create_directory(mark, error)) {
      if (error) break;
      continue;
    }
    // Between these two, another rehearsal may take it for one that was left.
    if (const auto lock = lock_of(mark, O_CREAT | O_EXCL)) return RehearsalScratch(config, mark.string(), *lock);
  }
  return cairn::fail(Code::io, fmt::format("{} cannot be written or locked", config.storage.global),
                     "make room there, or give ckpt-run the right to");
}

}  // namespace ckpt_run
