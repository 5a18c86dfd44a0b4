// What Cairn's log says in this process, as long as this lives.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <cairn/log.hpp>

namespace cairn::test {

class LogReading {
 public:
  LogReading() {
    set_log([this](LogLevel level, const std::string& line) { lines_.emplace_back(level, line); });
  }
  ~LogReading() { set_log({}); }
  LogReading(const LogReading&) = delete;
  LogReading& operator=(const LogReading&) = delete;

  // To be read when no other thread writes.
  [[nodiscard]] const std::vector<std::pair<LogLevel, std::string>>& lines() const { return lines_; }
  [[nodiscard]] std::vector<std::string> errors() const {
    std::vector<std::string> found;
    for (const auto& [level, line] : lines_) {
      if (level == LogLevel::error) found.push_back(line);
    }
    return found;
  }

 private:
  std::vector<std::pair<LogLevel, std::string>> lines_;
};

}  // namespace cairn::test
