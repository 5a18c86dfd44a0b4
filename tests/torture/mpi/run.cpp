#include "torture/mpi/run.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cairn::torture {
namespace {

namespace fs = std::filesystem;
using Time = std::chrono::steady_clock;
using Launches = std::vector<std::unique_ptr<Launch>>;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kLimit{90};             // of a job that is started once
constexpr seconds kSupervisedLimit{300};  // and again and again
constexpr seconds kMendingLimit{200};     // a step of a repair may take 120
constexpr seconds kLingerLimit{5};        // for mpirun to see that nobody is left: that of Open MPI 5.0 may stay
constexpr seconds kDyingLimit{30};        // of what is left when ckpt-run was killed
constexpr milliseconds kLook{3};

bool was_killed(const Launch& launch) { return launch.code() == 128 + SIGKILL; }

// "12 mpirun, 15 torture_program": what /proc says of them.
std::string names_of(const std::vector<pid_t>& processes) {
  std::vector<std::string> names;
  for (const pid_t process : processes) {
    std::string name = contents_of(fmt::format("/proc/{}/comm", process));
    std::erase(name, '\n');
    names.push_back(fmt::format("{} {}", process, name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// All that it had started ends, too. What does not.
std::vector<pid_t> left_in_the_end(const Launch& launch) {
  const Time::time_point last = Time::now() + kDyingLimit;
  std::vector<pid_t> left = launch.started();
  for (; !left.empty() && Time::now() < last; left = launch.started()) std::this_thread::sleep_for(kLook);
  return left;
}

// Shared memory of MPI, and what else than the job is in the global store.
std::vector<fs::path> leftovers(const Places& places) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(places.global())) {
    if (entry.path().filename() != Places::kJob) found.push_back(entry.path());
  }
  if (!is_apart()) return found;
  for (const auto& entry : fs::directory_iterator("/dev/shm")) {
    const bool is_segment = entry.path().filename().string().find("_segment.") != std::string::npos;
    struct stat seen {};
    if (is_segment && stat(entry.path().c_str(), &seen) == 0 && seen.st_uid == geteuid()) found.push_back(entry.path());
  }
  return found;
}

std::string what_is_left(const Run& run, const Striker& striker) {
  // What it was about to remove itself, or could not while the global store was away.
  const bool may_be_left = std::ranges::any_of(striker.struck(), [](const Struck& struck) {
    return struck.what == Strike::kill_supervisor || struck.what == Strike::take_away;
  });
  if (may_be_left) return {};
  const std::vector<fs::path> left = leftovers(run.places);
  return left.empty() ? "" : fmt::format("{} is left", left.front().string());
}

// The last line that ckpt-run has said, without its name.
std::string last_words(const std::string& output) {
  constexpr std::string_view kName = "ckpt-run: ";
  std::istringstream lines(output);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kName)) last = line.substr(kName.size());
  }
  return last;
}

// It says in words why a job that has not finished is given up, and leaves nothing.
std::string judge_end(const Run& run, const Launches& launches, const Striker& striker) {
  constexpr int kUnusable = 2;  // it could not start
  const std::string said = contents_of(run.output);
  const std::string last = last_words(said);
  const bool in_words = said.find("ckpt-run: gave up: ") != std::string::npos ||
                        said.find("ckpt-run: finished after ") != std::string::npos ||
                        said.find("ckpt-run: the job finished; then ") != std::string::npos;
  for (const auto& launch : launches) {
    if (const auto left = launch->started(); !left.empty())
      return fmt::format("ckpt-run has ended, and processes are left: {}", names_of(left));
    const bool says_why = in_words || (launch->code() == kUnusable && !last.empty());
    if (launch->code() != 0 && !says_why)
      return fmt::format("ckpt-run ended with {}, and did not say why: {}", launch->code(), last);
  }
  return what_is_left(run, striker);
}

}  // namespace

std::string run_struck(const Run& run, Striker& striker) {
  const bool supervised = run.life.outside.supervised;
  const bool mends = run.life.outside.mending != Outside::Mending::none;
  const Time::time_point last = Time::now() + (supervised ? kSupervisedLimit : mends ? kMendingLimit : kLimit);
  Time::time_point seen = Time::now();  // ranks, by the last look
  Launches launches;
  launches.push_back(run.start());
  if (run.life.outside.doubled) launches.push_back(run.start());
  while (true) {
    std::vector<Launch*> live;
    for (auto& launch : launches) {
      if (supervised && launch->has_ended() && was_killed(*launch)) {
        if (const auto left = left_in_the_end(*launch); !left.empty())
          return fmt::format("processes are left of a ckpt-run that was killed: {}", names_of(left));
        launch = run.start();
      }
      if (!launch->has_ended()) live.push_back(launch.get());
    }
    if (live.empty()) break;
    if (Time::now() > last) return "the job did not end in time";
    const std::size_t beginnings = run.count_beginnings();
    if (mends && beginnings > 0) {
      const bool alone = std::ranges::all_of(live, [](const Launch* launch) { return launch->ranks().empty(); });
      if (!alone) seen = Time::now();
      if (Time::now() - seen > kLingerLimit) break;
    }
    striker.look(live, beginnings);
    std::this_thread::sleep_for(kLook);
  }
  return supervised ? judge_end(run, launches, striker) : "";
}

void remove_leftovers(const Places& places) {
  for (const fs::path& left : leftovers(places)) fs::remove(left);
}

std::string contents_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace cairn::torture
