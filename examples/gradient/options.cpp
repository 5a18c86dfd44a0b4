#include "options.hpp"

#include <sstream>

#include <CLI/CLI.hpp>

namespace gradient {

CommandLine parse_command_line(int argc, const char* const* argv) {
  constexpr std::int64_t kLongest = 1 << 15;  // with a square of it, an int can still count the points
  Options options;
  Problem& problem = options.problem;
  std::int64_t pause_ms = 0;
  CLI::App app{
      "A membrane under load by conjugate gradients, kept safe by Cairn. Kill it and start it again: it continues from "
      "its newest snapshot."};
  app.add_option("--size", problem.rows, "rows of the grid")->required()->check(CLI::Range(std::int64_t{1}, kLongest));
  app.add_option("--width", problem.cols, "columns of the grid (default: as many as rows)")
      ->check(CLI::Range(std::int64_t{1}, kLongest));
  app.add_option("--steps", problem.steps, "steps of the method, at most")->required()->check(CLI::NonNegativeNumber);
  app.add_option("--tolerance", problem.tolerance, "norm of the residual that is small enough (default: 1e-12)")
      ->check(CLI::PositiveNumber);
  app.add_option("--config", options.config, "Cairn's INI file")->required()->check(CLI::ExistingFile);
  app.add_option("--output", options.output, "where to leave the solution: doubles, row by row")->required();
  app.add_option("--pause-ms", pause_ms, "sleep after each step, to have time to watch (or to pull a plug)")
      ->check(CLI::Range(0, 60000));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream text;
    const int exit_code = app.exit(error, text, text);
    return {{}, text.str(), exit_code};
  }
  if (problem.cols == 0) problem.cols = problem.rows;
  options.pause = std::chrono::milliseconds(pause_ms);
  return {options, {}, 0};
}

}  // namespace gradient
