// How this program was started, so that another process of it can be. Local.
#pragma once

#include <string>
#include <vector>

namespace cairn {

struct CommandLine {
  std::string program;  // a path
  std::vector<std::string> arguments;
  std::string directory;
};

[[nodiscard]] CommandLine this_command_line();

// The path by which `file`, an executable, was started as `name` with PATH = `path`. That is a link to it where the
// name leads to one: by such a link, a Python finds its virtual environment. Otherwise it is `file`.
[[nodiscard]] std::string path_started_as(const std::string& name, const std::string& path, const std::string& file);

}  // namespace cairn
