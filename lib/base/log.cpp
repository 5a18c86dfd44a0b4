#include "base/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <functional>
#include <mutex>

namespace cairn {
namespace {

// What set_log() was given. One line is written at a time.
struct Reader {
  std::mutex mutex;
  std::function<void(LogLevel, const std::string&)> log;
};

// Of this process. Threads may write until the process ends, so that it is never destroyed.
Reader& reader() {
  static auto* const of_process = new Reader;
  return *of_process;
}

constexpr std::array<std::pair<std::string_view, LogLevel>, 5> kLevelNames = {{
    {"error", LogLevel::error},
    {"warning", LogLevel::warning},
    {"info", LogLevel::info},
    {"debug", LogLevel::debug},
    {"off", LogLevel::off},
}};

std::string_view prefix(LogLevel level) {
  switch (level) {
    case LogLevel::error: return "error: ";
    case LogLevel::warning: return "warning: ";
    case LogLevel::info:
    case LogLevel::debug:
    case LogLevel::off: break;
  }
  return "";
}

}  // namespace

void set_log(std::function<void(LogLevel level, const std::string& line)> log) {
  const std::lock_guard lock(reader().mutex);
  reader().log = std::move(log);
}

Result<LogLevel> parse_log_level(std::string_view text) {
  for (const auto& [name, level] : kLevelNames) {
    if (name == text) return level;
  }
  return fail(Code::config, fmt::format("'{}' is not a log level; write error, warning, info, debug or off", text));
}

// A logger of its own, outside spdlog's process-wide registry, so that an application's spdlog is left alone.
struct Log::Sink {
  spdlog::logger logger{"cairn", std::make_shared<spdlog::sinks::stderr_sink_mt>()};

  Sink() {
    logger.set_pattern("cairn: %v");
    logger.set_level(spdlog::level::trace);
    logger.flush_on(spdlog::level::trace);
  }
};

Log::Log(LogLevel level) : sink_(level == LogLevel::off ? nullptr : std::make_shared<Sink>()), level_(level) {}

void Log::write(LogLevel level, const std::string& line) const {
  if (!sink_ || level > level_) return;
  const std::lock_guard lock(reader().mutex);
  if (reader().log) {
    try {
      reader().log(level, line);
    } catch (...) {  // whoever reads the log cannot stop what it tells of
    }
    return;
  }
  sink_->logger.log(spdlog::level::info, "{}{}", prefix(level), line);
}

}  // namespace cairn
