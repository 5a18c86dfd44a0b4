#include "session/rehearsal.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace cairn {
namespace {

namespace fs = std::filesystem;

fs::path file_of(const std::string& directory, const PlannedDeath& death) {
  return fs::path(directory) / fmt::format("call{:012}.rank{:06}", death.call, death.rank.value);
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

}  // namespace cairn
