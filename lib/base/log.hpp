// A log of one process: lines for a person, on stderr, each starting "cairn: ", or passed to the function that
// set_log() was given. A value that is passed along. Thread-safe. Local.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <cairn/log.hpp>

#include "base/error.hpp"

namespace cairn {

[[nodiscard]] Result<LogLevel> parse_log_level(std::string_view text);

class Log {
 public:
  // Writes lines of `level` and of more severe levels.
  explicit Log(LogLevel level = LogLevel::info);
  // Says nothing: for tests and for ranks whose lines another rank writes.
  static Log silent() { return Log(LogLevel::off); }

  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void warning(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::error, fmt::format(format, std::forward<Args>(args)...));
  }
  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::debug, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  void write(LogLevel level, const std::string& line) const;

  struct Sink;
  std::shared_ptr<Sink> sink_;
  LogLevel level_;
};

}  // namespace cairn
