// The command line of heat.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "plate.hpp"

namespace heat {

struct Options {
  Extent extent;
  std::int64_t steps = 0;
  std::string config;  // Cairn's INI file
  std::string output;
  std::chrono::milliseconds pause{0};
  std::string hold;  // a file; empty: none
};

struct CommandLine {
  std::optional<Options> options;  // empty: say `text` and end with `exit_code`
  std::string text;
  int exit_code = 0;
};

[[nodiscard]] CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace heat
