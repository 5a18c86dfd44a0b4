#include "repair/command_line.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace cairn {
namespace fs = std::filesystem;

std::string path_started_as(const std::string& name, const std::string& path, const std::string& file) {
  std::error_code error;
  const auto leads_to_it = [&](const fs::path& link) { return !name.empty() && fs::equivalent(link, file, error); };
  if (name.find('/') != std::string::npos)
    return leads_to_it(name) ? fs::absolute(name, error).lexically_normal().string() : file;
  std::istringstream directories(path);
  for (std::string directory; std::getline(directories, directory, ':');)
    if (const fs::path link = fs::path(directory) / name; directory.starts_with('/') && leads_to_it(link))
      return link.string();
  return file;
}

CommandLine this_command_line() {
  CommandLine line;
  std::error_code ignored;
  line.directory = fs::current_path(ignored).string();
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t from = 0; from < text.size();) {
    const auto end = std::min(text.find('\0', from), text.size());
    line.arguments.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  line.program = fs::read_symlink("/proc/self/exe", ignored).string();
  if (line.arguments.empty()) return line;
  const char* const path = std::getenv("PATH");
  line.program = path_started_as(line.arguments.front(), path == nullptr ? "" : path, line.program);
  line.arguments.erase(line.arguments.begin());
  return line;
}

}  // namespace cairn
