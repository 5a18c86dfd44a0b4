#include "session/rehearsal.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>

#include <fmt/format.h>

namespace cairn {
namespace {

namespace fs = std::filesystem;

fs::path file_of(const std::string& directory, const PlannedDeath& death) {
  return fs::path(directory) / fmt::format("call{:012}.rank{:06}", death.call, death.rank.value);
}

constexpr std::string_view kLastCall = "last.call";
fs::path file_of_last(const std::string& directory, std::uint64_t call) {
  return fs::path(directory) / fmt::format("{}{:012}", kLastCall, call);
}

Status cannot_write(const fs::path& path) {
  return fail(Code::io, fmt::format("{} cannot be written", path.string()),
              "make room there, or give ckpt-run the right to");
}

}  // namespace

Status plan_deaths(const std::string& directory, const std::vector<PlannedDeath>& deaths) {
  std::error_code error;
  if (!fs::create_directory(directory, error)) return cannot_write(directory);
  for (const PlannedDeath& death : deaths) {
    const fs::path file = file_of(directory, death);
    if (!std::ofstream(file).good()) return cannot_write(file);
  }
  return {};
}

std::vector<PlannedDeath> deaths_left(const std::string& directory, const std::vector<PlannedDeath>& deaths) {
  std::vector<PlannedDeath> left;
  std::ranges::copy_if(deaths, std::back_inserter(left), [&](const PlannedDeath& death) {
    std::error_code error;
    return fs::exists(file_of(directory, death), error);
  });
  return left;
}

void die_if_planned(const std::string& directory, const PlannedDeath& here) {
  if (directory.empty()) return;
  std::error_code error;
  if (fs::remove(file_of(directory, here), error)) std::raise(SIGKILL);
}

Status plan_last_call(const std::string& directory, std::uint64_t call) {
  const fs::path file = file_of_last(directory, call);
  if (!std::ofstream(file).good()) return cannot_write(file);
  return {};
}

std::optional<std::uint64_t> planned_last_call(const std::string& directory) {
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(kLastCall)) continue;
    std::uint64_t call = 0;
    std::from_chars(name.data() + kLastCall.size(), name.data() + name.size(), call);
    return call;
  }
  return {};
}

bool is_last_call(const std::string& directory, std::uint64_t call) {
  std::error_code error;
  return !directory.empty() && fs::exists(file_of_last(directory, call), error);
}

void wait_to_be_ended() {
  // If ckpt-run is gone, nobody else ends this process.
  constexpr std::chrono::minutes kLongest{5};
  std::this_thread::sleep_for(kLongest);
  std::raise(SIGKILL);
  std::abort();
}

}  // namespace cairn
