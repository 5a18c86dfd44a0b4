// load_program: an application that takes very many snapshots, or snapshots of very many or very large regions, and
// knows every word that must come back. Started by load.py. All its ranks stand still at times, with no work left to
// do in the background, for their processes and stores to be looked at from outside: they say "at", then wait for "go".
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cairn/cairn.hpp>

#include "load/state.hpp"

namespace cairn::load {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string config;
  std::string directory;
  std::size_t regions = 1;
  std::uint64_t bytes = 0;
  std::uint64_t first_bytes = 0;
  std::uint64_t steps = 0;
  std::uint64_t sample_every = 1;
  std::uint64_t expect = 0;
  int pause_ms = 0;
  std::string end = "finalize";
};

[[noreturn]] void give_up(const std::string& what) {
  fmt::print(stderr, "load_program: {}\n", what);
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  std::abort();
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Program {
 public:
  Program(const Options& options, Session& session)
      : options_(options),
        session_(session),
        state_(session.rank(), options.regions,
               options.first_bytes > 0 && session.rank() == 0 ? options.first_bytes : options.bytes) {}

  void run() {
    timed("protect", [&] { state_.protect(session_); });
    restore();
    const std::uint64_t first = state_.step() + 1;
    const auto start = Clock::now();
    for (std::uint64_t step = first; step <= options_.steps; ++step) {
      std::this_thread::sleep_until(start + (step - first) * std::chrono::milliseconds(options_.pause_ms));
      state_.advance_to(step);
      const auto before = Clock::now();
      session_.snapshot();
      in_snapshots_ += seconds_since(before);
      if (step % options_.sample_every == 0) stand_still(step);
    }
    say("ends");
    MPI_Barrier(session_.comm());  // the death of one rank is the end of all
    if (options_.end == "die") raise(SIGKILL);
    timed("unprotect", [&] { state_.unprotect(session_); });
  }

 private:
  template <class Call>
  void timed(const char* what, Call&& call) {
    MPI_Barrier(session_.comm());
    const auto start = Clock::now();
    call();
    MPI_Barrier(session_.comm());
    say(fmt::format("{}: {:.3f} s", what, seconds_since(start)));
  }

  // To a file: mpirun may drop what a rank has printed just before it dies.
  void say(const std::string& what) const {
    if (session_.rank() == 0) std::ofstream(options_.directory + "/said", std::ios::app) << what << '\n';
  }

  // What was safe comes back, and nothing else.
  void restore() {
    RestoreReport report;
    timed("restore", [&] { report = session_.restore(); });
    if (report.restored != (options_.expect > 0))
      give_up(report.restored ? "there was a snapshot" : "there was no snapshot");
    if (!report.restored) return;
    if (report.version != options_.expect || state_.step() != options_.expect)
      give_up(fmt::format("version {} with step {} was restored, should be {}", report.version, state_.step(),
                          options_.expect));
    if (const std::string difference = state_.first_difference(); !difference.empty())
      give_up(fmt::format("rank {}, from {}: {}", session_.rank(), report.my_source, difference));
    say(fmt::format("rank 0 has step {} from {}", state_.step(), report.my_source));
  }

  // Once the newest snapshots are safe at all their levels; so there is nothing left to do.
  void stand_still(std::uint64_t step) {
    const auto start = Clock::now();
    for (const LevelId level : {LevelId::local, LevelId::partner, LevelId::erasure, LevelId::global})
      session_.wait(level);
    MPI_Barrier(session_.comm());
    const std::filesystem::path directory = options_.directory;
    if (session_.rank() == 0) {
      std::ofstream(directory / "at.new")
          << fmt::format("{} {:.6f} {:.6f}\n", step, in_snapshots_, seconds_since(start));
      std::filesystem::rename(directory / "at.new", directory / "at");
    }
    while (!std::filesystem::exists(directory / fmt::format("go{}", step)))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  const Options& options_;
  Session& session_;
  State state_;
  double in_snapshots_ = 0;
};

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Takes snapshots, and says at once if what comes back is not what it was");
  app.add_option("--config", options.config)->required();
  app.add_option("--directory", options.directory,
                 "where \"at\" and \"said\" are written, and \"go<step>\" is waited for")
      ->required();
  app.add_option("--regions", options.regions, "of each rank");
  app.add_option("--bytes", options.bytes, "of each rank, in all regions");
  app.add_option("--first-bytes", options.first_bytes, "of rank 0, if it has another number");
  app.add_option("--steps", options.steps, "number of the last step")->required();
  app.add_option("--sample-every", options.sample_every, "steps from one standstill to the next");
  app.add_option("--pause-ms", options.pause_ms, "from one step to the next, at least");
  app.add_option("--expect", options.expect, "the step that must be restored; 0: none");
  app.add_option("--end", options.end)->check(CLI::IsMember({"finalize", "die"}));
  CLI11_PARSE(app, argc, argv);
  return cairn::run(MPI_COMM_WORLD, options.config, [&](Session& session) { Program(options, session).run(); });
}

}  // namespace
}  // namespace cairn::load

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = cairn::load::run(argc, argv);
  MPI_Finalize();
  return code;
}
