// The command line of gradient.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace gradient {

// What all ranks must agree on. Ranks send it as bytes.
struct Problem {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t steps = 0;    // at most
  double tolerance = 1e-12;  // norm of the residual that ends the iteration; positive
};

struct Options {
  Problem problem;
  std::string config;  // Cairn's INI file
  std::string output;
  std::chrono::milliseconds pause{0};
};

struct CommandLine {
  std::optional<Options> options;  // empty: say `text` and end with `exit_code`
  std::string text;
  int exit_code = 0;
};

[[nodiscard]] CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace gradient
