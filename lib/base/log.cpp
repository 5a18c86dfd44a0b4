#include "base/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>

namespace cairn {

namespace {

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

Result<LogLevel> parse_log_level(std::string_view text) {
  for (const auto& [name, level] : kLevelNames) {
    if (name == text) return level;
  }
  return fail(Code::config, fmt::format("'{}' is no log level: should be error, warning, info, debug or off", text));
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
  sink_->logger.log(spdlog::level::info, "{}{}", prefix(level), line);
}

}  // namespace cairn
