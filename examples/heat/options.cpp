#include "options.hpp"

#include <sstream>

#include <CLI/CLI.hpp>

namespace heat {

CommandLine parse_command_line(int argc, const char* const* argv) {
  Options options;
  std::int64_t pause_ms = 0;
  CLI::App app{
      "Heat in a thin plate, kept safe by Cairn. Kill it and start it again: it continues from its newest snapshot."};
  app.add_option("--size", options.extent.rows, "rows of the plate, in cells")
      ->required()
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--width", options.extent.cols, "columns of the plate, in cells (default: as many as rows)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--steps", options.steps, "steps of time")->required()->check(CLI::NonNegativeNumber);
  app.add_option("--config", options.config, "Cairn's INI file")->required()->check(CLI::ExistingFile);
  app.add_option("--output", options.output, "where to leave the plate; plate-png makes a picture of it")->required();
  app.add_option("--pause-ms", pause_ms, "sleep after each step, to have time to watch (or to pull a plug)")
      ->check(CLI::Range(0, 60000));
  app.add_option("--hold", options.hold, "a file: while it has a number, take no step beyond that one");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream text;
    const int exit_code = app.exit(error, text, text);
    return {{}, text.str(), exit_code};
  }
  if (options.extent.cols == 0) options.extent.cols = options.extent.rows;
  options.pause = std::chrono::milliseconds(pause_ms);
  return {options, {}, 0};
}

}  // namespace heat
