#include "program.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <vector>

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

// The words after "#!" of a script; none: it is none.
std::vector<std::string> interpreter_line(const fs::path& script) {
  std::ifstream in(script, std::ios::binary);
  std::string line;
  if (in.get() == '#' && in.get() == '!') std::getline(in, line);
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

// Of a script: "#!/usr/bin/env python3" needs /usr/bin/env.
std::string interpreter_of(const fs::path& script) {
  const auto words = interpreter_line(script);
  return words.empty() ? std::string() : words.front();
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

// Where launchers look for it; none: it is in none of these places.
std::optional<fs::path> file_of(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* const path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');)
    if (error_of(fs::path(directory) / name) == 0) return fs::path(directory) / name;
  return error_of(name) == 0 ? std::optional<fs::path>(name) : std::nullopt;
}

bool is_for_python(const std::string& program) {
  const auto is_python = [](const fs::path& file) { return file.filename().string().starts_with("python"); };
  if (is_python(program)) return true;
  const auto file = file_of(program);
  return file && std::ranges::any_of(interpreter_line(*file), is_python);
}

// As it is installed or built; otherwise its name, for which the loader looks.
std::string tap_file() {
  std::error_code error;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  for (const fs::path directory : {CAIRN_LIBRARY_DIRECTORY, "lib"}) {
    const fs::path file = prefix / directory / CAIRN_TAP_NAME;
    if (fs::exists(file, error)) return file;
  }
  return CAIRN_TAP_NAME;
}

}  // namespace

std::optional<std::string> why_not_run(const Options& options) {
  if (looks_elsewhere(options)) return {};
  const std::string& name = options.application.front();
  const auto file = file_of(name);
  return file ? why_not_run(*file, name) : name + ": it is not in PATH";
}

std::string preload_of(const Options& options) {
  if (!options.preload_tap && !is_for_python(options.application.front())) return {};
  const char* const before = std::getenv("LD_PRELOAD");
  return before == nullptr || *before == '\0' ? tap_file() : tap_file() + ":" + before;
}

}  // namespace ckpt_run
