#include "hang_process.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "hang/process_facts.hpp"

namespace ckpt_tool {
namespace {

constexpr double kNanoseconds = 1e-9;

double seconds_since_boot() {
  std::ifstream in("/proc/uptime");
  double seconds = 0;
  in >> seconds;
  return seconds;
}

}  // namespace

std::string this_host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

std::int64_t monotonic_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::optional<ProcessSample> sample_process(std::int32_t process) {
  const auto found = cairn::look_at_process(process);
  if (!found) return {};
  const double started = static_cast<double>(found->started) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return ProcessSample{*found, seconds_since_boot() - started};
}

cairn::hang::ProcessFacts facts_of(const std::optional<ProcessSample>& first,
                                   const std::optional<ProcessSample>& second, std::int64_t opened, std::int64_t now) {
  constexpr double kSlack = 2;  // seconds: clocks of different grain are compared
  const double opened_before_now = static_cast<double>(now - opened) * kNanoseconds;
  if (!second || second->process.ended() || opened_before_now < -kSlack ||
      second->started_before_now + kSlack < opened_before_now)
    return {cairn::hang::ProcessFacts::State::dead, {}};
  return cairn::hang::facts_of(first ? std::optional(first->process) : std::nullopt, second->process);
}

bool has_gdb() {
  const char* const path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');)
    if (::access((directory + "/gdb").c_str(), X_OK) == 0) return true;
  return false;
}

std::string stack_of(std::int32_t process) {
  // It stops the process while it looks, so it must end.
  const std::string command = fmt::format("timeout 10 gdb -p {} -batch -nx -ex bt 2>/dev/null </dev/null", process);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  if (!pipe) return "";
  std::string text;
  std::array<char, 4096> block{};
  for (std::size_t count = 0; (count = std::fread(block.data(), 1, block.size(), pipe.get())) > 0;)
    text.append(block.data(), count);
  std::istringstream lines(text);
  std::string frames;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with('#')) frames += "    " + line + "\n";
  return frames;
}

}  // namespace ckpt_tool
