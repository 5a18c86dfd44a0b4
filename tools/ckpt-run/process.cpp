#include "process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>

#include <fmt/format.h>

namespace ckpt_run {
namespace {

using cairn::Code;
using cairn::fail;
using cairn::Result;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kNap{5};
constexpr std::size_t kAtATime = 32;  // of run_all

// A descriptor that is closed with it.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }
  void reset(int number = -1) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_;
};

bool make_pipe(Descriptor& read_end, Descriptor& write_end) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return true;
}

// Strings as execve takes them.
std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> all;
  for (std::string& text : strings) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!more.contains(std::string(text.substr(0, text.find('='))))) all.emplace_back(text);
  }
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  return all;
}

int code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

void kill_session(pid_t pid) { (void)::kill(-pid, SIGKILL); }

// A descriptor of this process's stdin for a child. A file is opened again, so that the child does not move its offset
// for the next one.
int own_input(int nothing) {
  struct stat status {};
  if (::fstat(STDIN_FILENO, &status) != 0) return nothing;
  if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) return STDIN_FILENO;
  if (!S_ISREG(status.st_mode)) return nothing;
  const int file = ::open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC);
  if (file < 0) return nothing;
  ::lseek(file, ::lseek(STDIN_FILENO, 0, SEEK_CUR), SEEK_SET);
  return file;
}

// In the child, between fork and exec: only calls that are safe there. Errors go through `report`.
[[noreturn]] void become(char* const* argv, char* const* environment, const StartOptions& options, pid_t parent,
                         int report) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(127);
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(options.input ? own_input(nothing) : nothing, STDIN_FILENO);
  if (options.silent) ::dup2(nothing, STDOUT_FILENO);
  if (options.output >= 0) ::dup2(options.output, STDOUT_FILENO);
  if (options.silent) ::dup2(nothing, STDERR_FILENO);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvpe(argv[0], argv, environment);
  const int error = errno;
  (void)!::write(report, &error, sizeof error);
  ::_exit(127);
}

// pid and parent of every process that is not a zombie.
std::vector<std::pair<pid_t, pid_t>> processes() {
  std::vector<std::pair<pid_t, pid_t>> found;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
    std::ifstream in(it->path() / "stat");
    std::string text;
    std::getline(in, text);
    // The second field, a name in parentheses, may hold anything.
    const auto after = text.rfind(')');
    if (after == std::string::npos || after + 4 > text.size()) continue;
    const char state = text[after + 2];
    pid_t parent = 0;
    std::from_chars(text.data() + after + 4, text.data() + text.size(), parent);
    if (state != 'Z' && state != 'X') found.emplace_back(pid, parent);
  }
  return found;
}

}  // namespace

Result<pid_t> start(const std::vector<std::string>& argv, const StartOptions& options) {
  auto words = argv;
  auto variables = environment_with(options.environment);
  const auto argv_pointers = pointers(words);
  const auto environment_pointers = pointers(variables);
  Descriptor hears;
  Descriptor reports;
  if (!make_pipe(hears, reports))
    return fail(Code::io, fmt::format("{}: cannot make a pipe: {}", argv[0], std::strerror(errno)));
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return fail(Code::io, fmt::format("{}: cannot start a process: {}", argv[0], std::strerror(errno)));
  if (child == 0) become(argv_pointers.data(), environment_pointers.data(), options, parent, reports.get());
  reports.reset();
  int error = 0;
  // Ends at the exec, which closes the other side.
  if (::read(hears.get(), &error, sizeof error) != static_cast<ssize_t>(sizeof error)) return child;
  (void)::waitpid(child, nullptr, 0);
  return fail(Code::not_found, fmt::format("{} cannot be run: {}", argv[0], std::strerror(error)));
}

std::optional<ChildEnd> reap_child(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, WNOHANG) != pid) return {};
  return ChildEnd{code_of(status), WIFSIGNALED(status)};
}

std::optional<int> reap(pid_t pid) {
  const auto end = reap_child(pid);
  return end ? std::optional(end->code) : std::nullopt;
}

Result<Ending> run_for_output(const std::vector<std::string>& argv, std::chrono::milliseconds limit) {
  Descriptor hears;
  Descriptor writes;
  if (!make_pipe(hears, writes))
    return fail(Code::io, fmt::format("{}: cannot make a pipe: {}", argv[0], std::strerror(errno)));
  const auto child = start(argv, {.output = writes.get()});
  if (!child) return fail(child.error());
  writes.reset();
  ::fcntl(hears.get(), F_SETFL, O_NONBLOCK);
  Ending ending;
  const auto hear = [&] {
    std::array<char, 4096> block{};
    ssize_t count = 0;
    while ((count = ::read(hears.get(), block.data(), block.size())) > 0)
      ending.out.append(block.data(), static_cast<std::size_t>(count));
    return count == 0;
  };
  const auto deadline = Clock::now() + limit;
  bool over = false;
  while (true) {
    const auto code = reap(*child);
    if (!over) over = hear();
    if (code) {
      ending.code = *code;
      return ending;
    }
    if (Clock::now() > deadline) kill_session(*child);
    pollfd waits{over ? -1 : hears.get(), POLLIN, 0};
    ::poll(&waits, 1, static_cast<int>(kNap.count()));
  }
}

namespace {

// Where a command's stdout goes: descriptors, or none.
std::vector<int> run_each(const std::vector<std::vector<std::string>>& commands, const std::vector<int>& outputs,
                          std::chrono::milliseconds limit, const std::function<bool()>& hurry) {
  struct Running {
    std::size_t number;
    pid_t pid;
    Clock::time_point deadline;
  };
  std::vector<int> codes(commands.size(), 128 + SIGKILL);
  std::vector<Running> running;
  std::size_t next = 0;
  while (next < commands.size() || !running.empty()) {
    const bool over = hurry();
    if (over) next = commands.size();
    for (; next < commands.size() && running.size() < kAtATime; ++next) {
      const auto pid = start(commands[next], {.silent = true, .output = outputs.empty() ? -1 : outputs[next]});
      if (pid)
        running.push_back({next, *pid, Clock::now() + limit});
      else
        codes[next] = 127;
    }
    std::erase_if(running, [&](const Running& one) {
      const auto code = reap(one.pid);
      if (code) codes[one.number] = *code;
      if (!code && (over || Clock::now() > one.deadline)) kill_session(one.pid);
      return code.has_value();
    });
    if (!running.empty()) std::this_thread::sleep_for(kNap);
  }
  return codes;
}

std::string beginning_of(int file, std::size_t most_bytes) {
  std::string text(most_bytes, '\0');
  std::size_t length = 0;
  ssize_t count = 0;
  while (length < most_bytes &&
         (count = ::pread(file, text.data() + length, most_bytes - length, static_cast<off_t>(length))) > 0)
    length += static_cast<std::size_t>(count);
  text.resize(length);
  return text;
}

}  // namespace

std::vector<int> run_all(const std::vector<std::vector<std::string>>& commands, std::chrono::milliseconds limit,
                         const std::function<bool()>& hurry) {
  return run_each(commands, {}, limit, hurry);
}

// Files without a name, not pipes: nobody has to read them meanwhile.
std::vector<Ending> run_all_for_output(const std::vector<std::vector<std::string>>& commands,
                                       std::chrono::milliseconds limit, std::size_t most_bytes,
                                       const std::function<bool()>& hurry) {
  std::deque<Descriptor> files;
  std::vector<int> outputs;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    files.emplace_back(::memfd_create("output", MFD_CLOEXEC));
    outputs.push_back(files.back().get());
  }
  const auto codes = run_each(commands, outputs, limit, hurry);
  std::vector<Ending> endings;
  for (std::size_t i = 0; i < commands.size(); ++i)
    endings.push_back({codes[i], outputs[i] < 0 ? std::string() : beginning_of(outputs[i], most_bytes)});
  return endings;
}

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> descendants() {
  const auto all = processes();
  std::vector<pid_t> found{::getpid()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (const auto& [pid, parent] : all) {
      if (parent == found[i]) found.push_back(pid);
    }
  }
  found.erase(found.begin());
  return found;
}

std::vector<pid_t> processes_with(const std::string& name, const std::string& value) {
  std::vector<pid_t> found;
  for (const auto& [pid, parent] : processes()) {
    if (variable_of(pid, name) == value) found.push_back(pid);
  }
  return found;
}

std::optional<std::string> variable_of(pid_t pid, const std::string& name) {
  std::ifstream in(fmt::format("/proc/{}/environ", pid), std::ios::binary);
  std::string entry;
  while (std::getline(in, entry, '\0')) {
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name))
      return entry.substr(name.size() + 1);
  }
  return {};
}

}  // namespace ckpt_run
