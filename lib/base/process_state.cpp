#include "base/process_state.hpp"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <fmt/format.h>

namespace cairn {

std::optional<ProcessState> look_at_process(std::int32_t process) {
  std::ifstream stat(fmt::format("/proc/{}/stat", process));
  const std::string text((std::istreambuf_iterator<char>(stat)), {});
  // Fields are separated by blanks, and the second, the program's name in parentheses, may have blanks itself.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream in(text.substr(name_end + 1));
  ProcessState found;
  std::string skipped;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  in >> found.state;  // field 3
  for (int field = 4; field < 14; ++field) in >> skipped;
  in >> user >> system;  // 14 and 15
  for (int field = 16; field < 22; ++field) in >> skipped;
  in >> found.started;  // 22
  if (!in) return {};
  found.ticks = user + system;
  std::ifstream schedstat(fmt::format("/proc/{}/schedstat", process));
  std::int64_t ran = 0;
  std::int64_t waited = 0;
  if (schedstat >> ran >> waited) found.waited = std::chrono::nanoseconds(waited);
  return found;
}

std::optional<std::uint64_t> oom_kills_in(std::istream& vmstat) {
  std::string name;
  for (std::uint64_t value = 0; vmstat >> name >> value;)
    if (name == "oom_kill") return value;
  return std::nullopt;
}

std::optional<std::uint64_t> count_oom_kills() {
  std::ifstream vmstat("/proc/vmstat");
  return oom_kills_in(vmstat);
}

}  // namespace cairn
