#include "mpi/process.hpp"

#include <execinfo.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

namespace cairn {
namespace {

struct ProcStat {
  ProcessId id;
  char state = '?';
  std::int32_t parent = 0;
};

// `who`: a number, or "self". The name, which comes second and in parentheses, may hold anything.
std::optional<ProcStat> read_stat(const std::string& who) {
  constexpr int kBetweenParentAndStart = 17;
  std::ifstream file("/proc/" + who + "/stat");
  std::string line;
  if (!std::getline(file, line)) return {};
  const auto close = line.rfind(')');
  if (close == std::string::npos) return {};
  ProcStat stat;
  std::istringstream(line) >> stat.id.number;
  std::istringstream fields(line.substr(close + 1));
  fields >> stat.state >> stat.parent;
  std::string skipped;
  for (int i = 0; i < kBetweenParentAndStart; ++i) fields >> skipped;
  fields >> stat.id.started;
  if (!fields) return {};
  return stat;
}

// Sees the environment that the process was started with; later changes are not visible.
bool has_variable(const std::string& who, const std::string& variable) {
  std::ifstream file("/proc/" + who + "/environ", std::ios::binary);
  std::string entry;
  while (std::getline(file, entry, '\0')) {
    if (entry == variable) return true;
  }
  return false;
}

constexpr int kMostFrames = 64;

extern "C" void cairn_show_stack(int /*signal*/) {
  std::array<void*, kMostFrames> frames{};
  constexpr int kStandardError = 2;
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), kMostFrames), kStandardError);
  std::raise(SIGKILL);
}

}  // namespace

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MPI_Get_processor_name(name.data(), &length);
  return {name.data(), static_cast<std::size_t>(length)};
}

ProcessId this_process() {
  const auto stat = read_stat("self");
  return stat ? stat->id : ProcessId{};
}

std::int32_t parent_process() {
  const auto stat = read_stat("self");
  return stat ? stat->parent : 0;
}

bool is_stopped(const ProcessId& process) {
  const auto stat = read_stat(std::to_string(process.number));
  return stat && stat->id == process && (stat->state == 'T' || stat->state == 't');
}

bool is_gone(const ProcessId& process) {
  const auto stat = read_stat(std::to_string(process.number));
  return !stat || stat->id != process || stat->state == 'Z' || stat->state == 'X';
}

void kill_process(const ProcessId& process) {
  const auto stat = read_stat(std::to_string(process.number));
  if (stat && stat->id == process) kill(process.number, SIGKILL);
}

void show_stack_when_asked() {
  struct sigaction present {};
  if (sigaction(SIGQUIT, nullptr, &present) != 0 || present.sa_handler != SIG_DFL) return;
  std::array<void*, 1> frame{};
  backtrace(frame.data(), 1);  // loads its library now, since a signal handler must not
  struct sigaction ours {};
  ours.sa_handler = &cairn_show_stack;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGQUIT, &ours, nullptr);
}

void ask_for_stack(const ProcessId& process) {
  const auto stat = read_stat(std::to_string(process.number));
  if (stat && stat->id == process) tgkill(process.number, process.number, SIGQUIT);
}

void kill_children_but(const std::vector<ProcessId>& keep, std::int32_t parent, const std::string& variable) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string who = entry.path().filename();
    if (!std::ranges::all_of(who, [](char c) { return c >= '0' && c <= '9'; })) continue;
    const auto stat = read_stat(who);
    if (!stat || stat->parent != parent || std::ranges::find(keep, stat->id) != keep.end()) continue;
    if (has_variable(who, variable)) kill_process(stat->id);
  }
}

}  // namespace cairn
