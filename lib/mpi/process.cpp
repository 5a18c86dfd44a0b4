#include "mpi/process.hpp"

#include <mpi.h>

#include <array>
#include <csignal>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace cairn {
namespace {

struct ProcStat {
  ProcessId id;
  char state = '?';
};

// `who`: a number, or "self". The name, which comes second and in parentheses, may hold anything.
std::optional<ProcStat> read_stat(const std::string& who) {
  constexpr int kBetweenStateAndStart = 18;
  std::ifstream file("/proc/" + who + "/stat");
  std::string line;
  if (!std::getline(file, line)) return {};
  const auto close = line.rfind(')');
  if (close == std::string::npos) return {};
  ProcStat stat;
  std::istringstream(line) >> stat.id.number;
  std::istringstream fields(line.substr(close + 1));
  fields >> stat.state;
  std::string skipped;
  for (int i = 0; i < kBetweenStateAndStart; ++i) fields >> skipped;
  fields >> stat.id.started;
  if (!fields) return {};
  return stat;
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

}  // namespace cairn
