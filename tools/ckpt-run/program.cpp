#include "program.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace ckpt_run {
namespace {

namespace fs = std::filesystem;

// 0, or an errno.
int error_of(const fs::path& file) {
  std::error_code error;
  const auto status = fs::status(file, error);
  if (fs::is_directory(status)) return EISDIR;
  return ::access(file.c_str(), X_OK) == 0 ? 0 : errno;
}

std::string text_of(const std::string& what, int error) { return what + ": " + std::generic_category().message(error); }

// Of a script: "#!/usr/bin/env python3" needs /usr/bin/env.
std::string interpreter_of(const fs::path& script) {
  std::ifstream in(script, std::ios::binary);
  std::string word;
  if (in.get() == '#' && in.get() == '!') in >> word;
  return word;
}

// Whether an option of the launcher says where it looks for programs.
bool looks_elsewhere(const Options& options) {
  return std::ranges::any_of(options.mpi_options, [](const std::string& word) {
    const auto has = [&](const char* part) { return word.find(part) != std::string::npos; };
    return has("wd") || has("path") || has("PATH") || has("chdir") || has("prefix") || word == "-D";
  });
}

std::optional<std::string> why_not_run(const fs::path& file, const std::string& name) {
  if (const int error = error_of(file); error != 0) return text_of(name, error);
  const std::string interpreter = interpreter_of(file);
  if (interpreter.empty()) return {};
  const int error = error_of(interpreter);
  if (error == 0) return {};
  return name + " needs " + text_of(interpreter, error);
}

}  // namespace

std::optional<std::string> why_not_run(const Options& options) {
  if (looks_elsewhere(options)) return {};
  const std::string& name = options.application.front();
  if (name.find('/') != std::string::npos) return why_not_run(name, name);
  const char* const path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');)
    if (error_of(fs::path(directory) / name) == 0) return why_not_run(fs::path(directory) / name, name);
  if (error_of(name) == 0) return why_not_run(name, name);
  return name + ": it is not in PATH";
}

}  // namespace ckpt_run
