// The command line of the applications beside this file:
//
//   PROGRAM WHAT --steps N --config FILE --output FILE --pause-ms N
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

struct Options {
  std::string what;  // that the application plays
  std::int64_t steps = 0;
  std::int64_t pause_ms = 0;
  std::string config;
  std::string output;
};

inline Options parse(int argc, char** argv) {
  Options options;
  if (argc > 1) options.what = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--steps") options.steps = std::atol(argv[i + 1]);
    if (name == "--pause-ms") options.pause_ms = std::atol(argv[i + 1]);
    if (name == "--config") options.config = argv[i + 1];
    if (name == "--output") options.output = argv[i + 1];
  }
  return options;
}
