#include "torture/mpi/launch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "torture/mpi/run.hpp"

namespace cairn::torture {
namespace {

namespace fs = std::filesystem;

constexpr const char* kToken = "TORTURE_LAUNCH";

bool is_number(const std::string& text) { return text.find_first_not_of("0123456789") == std::string::npos; }

// A zombie runs no more.
bool runs(pid_t process) {
  const std::string stat = contents_of(fmt::format("/proc/{}/stat", process));
  const auto after_name = stat.rfind(')');
  return after_name != std::string::npos && after_name + 2 < stat.size() && stat[after_name + 2] != 'Z' &&
         stat[after_name + 2] != 'X';
}

std::vector<pid_t> all_with(const std::string& token) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (!is_number(name)) continue;
    // Each ends with a zero: 1.1 is not 1.10.
    if (contents_of(entry.path() / "environ").find(token + '\0') == std::string::npos) continue;
    const auto process = static_cast<pid_t>(std::stol(name));
    if (runs(process)) found.push_back(process);
  }
  std::ranges::sort(found);
  return found;
}

[[noreturn]] void become(const std::vector<std::string>& command, const std::string& output) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int file = open(output.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
  if (file < 0 || dup2(file, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0) _exit(EXIT_FAILURE);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments.front(), arguments.data());
  _exit(EXIT_FAILURE);
}

}  // namespace

Launch::Launch(const std::vector<std::string>& command, const std::vector<std::string>& environment,
               const std::string& output, std::string program)
    : program_(std::move(program)) {
  static int launches = 0;
  token_ = fmt::format("{}={}.{}", kToken, getpid(), ++launches);
  launcher_ = fork();
  if (launcher_ != 0) return;
  for (const std::string& variable : environment) putenv(strdup(variable.c_str()));
  putenv(strdup(token_.c_str()));
  become(command, output);
}

Launch::~Launch() { end(); }

bool Launch::has_ended() {
  int status = 0;
  if (ended_ || waitpid(launcher_, &status, WNOHANG) != launcher_) return ended_;
  constexpr int kOfSignals = 128;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : kOfSignals + WTERMSIG(status);
  ended_ = true;
  return true;
}

void Launch::wait() {
  while (!has_ended()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

std::vector<pid_t> Launch::ranks() const {
  std::vector<pid_t> found = all_with(token_);
  std::erase_if(found, [&](pid_t process) {
    std::error_code gone;
    return fs::read_symlink(fmt::format("/proc/{}/exe", process), gone) != program_;
  });
  return found;
}

std::vector<pid_t> Launch::started() const {
  std::vector<pid_t> found = all_with(token_);
  std::erase(found, launcher_);
  return found;
}

void Launch::end() {
  while (true) {
    for (const pid_t process : all_with(token_)) kill(process, SIGKILL);
    if (has_ended() && all_with(token_).empty()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::optional<std::uint32_t> world_rank_of(pid_t process) {
  const std::string environment = '\0' + contents_of(fmt::format("/proc/{}/environ", process));
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    const std::string variable = '\0' + std::string(name) + '=';
    const auto at = environment.find(variable);
    if (at != std::string::npos) return static_cast<std::uint32_t>(std::atol(&environment[at + variable.size()]));
  }
  return std::nullopt;
}

}  // namespace cairn::torture
