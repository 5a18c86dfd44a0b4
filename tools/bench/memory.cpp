#include "memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

namespace bench {
namespace {

constexpr std::uint64_t kCacheLine = 64;
// What no machine says of its caches.
constexpr std::uint64_t kUnknownCacheBytes = 64 * cairn::kMiB;

// "32768K" of a file of the kernel's; 0 if it is not there.
std::uint64_t read_kibibytes(const std::filesystem::path& path) {
  std::uint64_t number = 0;
  std::ifstream(path) >> number;
  return number * cairn::kKiB;
}

// What one core can reach. sysconf() may add up the caches of the whole host.
std::uint64_t last_level_cache_bytes() {
  std::uint64_t most = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/devices/system/cpu/cpu0/cache", error)) {
    if (entry.path().filename().string().starts_with("index"))
      most = std::max(most, read_kibibytes(entry.path() / "size"));
  }
  return most > 0 ? most : kUnknownCacheBytes;
}

constexpr std::chrono::milliseconds kLook{5};

// This process has in memory that is of no file.
double own_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return static_cast<double>(kib) / cairn::kKiB;
  }
  return 0;
}

}  // namespace

Peak::Peak() : before_(own_mib()), most_(before_) {
  looks_ = std::jthread([this](const std::stop_token& stop) {
    for (; !stop.stop_requested(); std::this_thread::sleep_for(kLook)) most_ = std::max(most_.load(), own_mib());
  });
}

double Peak::mib() const { return most_ - before_; }

Buffers::Buffers(std::uint64_t bytes) : source_(bytes), target_(bytes) {
  rewrite(0);
  std::ranges::copy(source_, target_.begin());
}

void Buffers::rewrite(std::uint64_t seed) {
  std::uint64_t state = 0x9e3779b97f4a7c15 * (seed + 1);
  for (std::size_t at = 0; at + sizeof(state) <= source_.size(); at += sizeof(state)) {
    state = state * 6364136223846793005 + 1442695040888963407;
    std::memcpy(source_.data() + at, &state, sizeof(state));
  }
}

void Buffers::copy() { std::memcpy(target_.data(), source_.data(), source_.size()); }

// A quarter more than the cache: it need not replace the oldest line first.
Caches::Caches() : other_(last_level_cache_bytes() * 5 / 4 / sizeof(std::uint64_t)) {}

void Caches::displace() {
  for (std::size_t at = 0; at < other_.size(); at += kCacheLine / sizeof(std::uint64_t)) ++other_[at];
}

Span time_copy(const Ranks& ranks, Buffers& buffers, Who who) {
  return time_step(ranks, who, [&] { buffers.copy(); });
}

}  // namespace bench
