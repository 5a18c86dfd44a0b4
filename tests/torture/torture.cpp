// torture [--from SEED] [--seeds N] [--minutes M] [--without ITEMS] [--go-on] [--mpi MPIRUN]: plays scenarios, each in
// a process of its own, until one fails; shrinks that, and says how to play it again. It stops after N scenarios, after
// M minutes, or at whichever comes first; by default after 100 scenarios. --without: one scenario, and what to leave
// out of it. --go-on: plays all, and only names those that fail. --mpi: by jobs of MPI instead of threads,
// which this mpirun starts, of this --kind, with the programs in that directory.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "torture/limits.hpp"
#include "torture/mpi/apart.hpp"
#include "torture/mpi/processes.hpp"
#include "torture/player.hpp"
#include "torture/scenario.hpp"
#include "torture/threads.hpp"

namespace cairn::torture {
namespace {

using Items = std::set<std::uint32_t>;

struct Outcome {
  bool failed = false;
  std::string text;
};

// Where scenarios are played: without an mpirun, by threads.
struct Stage {
  Programs programs;
  Tally& tally = make_shared_tally();

  [[nodiscard]] bool of_processes() const { return !programs.mpirun.empty(); }
  [[nodiscard]] Scenario draw(std::uint64_t seed) const {
    return of_processes() ? draw_outside(seed, programs.mpi) : with_other_ranks(torture::draw(seed));
  }
  [[nodiscard]] std::string play(const Scenario& scenario, const Items& left_out) const {
    try {
      const auto cluster =
          of_processes() ? make_process_cluster(programs, tally, scenario, text(left_out)) : make_thread_cluster();
      return torture::play(without(scenario, left_out), *cluster);
    } catch (const std::exception& error) {
      return fmt::format("the player itself failed: {}", error.what());
    }
  }
};

// In a process of its own: a crash, a hang and a leak are failures like others.
Outcome play_apart(const Stage& stage, const Scenario& scenario, const Items& left_out) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  std::fflush(nullptr);  // or children would print it again
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const auto tell = [&] {
      const std::string wrong = stage.play(scenario, left_out);
      if (!wrong.empty() && write(ends[1], wrong.data(), wrong.size()) < 0) std::abort();
      return wrong.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
    };
    std::exit(stage.of_processes() ? run_apart(tell) : tell());
  }
  close(ends[1]);
  Outcome outcome;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    outcome.text.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  outcome.failed = status != 0;
  if (outcome.failed && outcome.text.empty()) {
    outcome.text = WIFSIGNALED(status) ? fmt::format("the process was ended by signal {}", WTERMSIG(status))
                                       : fmt::format("the process ended with {}", WEXITSTATUS(status));
  }
  return outcome;
}

// Neither threads nor processes run the same way twice, so each is tried a few times.
bool still_fails(const Stage& stage, const Scenario& scenario, const Items& left_out) {
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    if (play_apart(stage, scenario, left_out).failed) return true;
  }
  return false;
}

// Leaves out runs of items, long ones first, as long as it still fails.
Items shrink(const Stage& stage, const Scenario& scenario) {
  const std::uint32_t count = count_items(scenario);
  Items left_out;
  for (std::uint32_t run = std::max(count / 2, 1U); run > 0; run /= 2) {
    for (std::uint32_t first = 0; first < count; first += run) {
      Items more = left_out;
      for (std::uint32_t item = first; item < std::min(first + run, count); ++item) more.insert(item);
      if (more != left_out && still_fails(stage, scenario, more)) left_out = more;
    }
  }
  return left_out;
}

// What was done so far to real jobs.
std::string done(const Stage& stage) { return stage.of_processes() ? "; " + text(stage.tally) : ""; }

int report(const Stage& stage, const Scenario& scenario, const Outcome& outcome) {
  fmt::print("seed {} failed: {}\nshrinking ...\n", scenario.seed, outcome.text);
  std::fflush(stdout);
  const Items left_out = shrink(stage, scenario);
  const Outcome smaller = play_apart(stage, scenario, left_out);
  fmt::print("{}fails: {}\nplay it again: tools/torture.sh {}--from {} --without {}\n", text(scenario, left_out),
             smaller.failed ? smaller.text : "(not each time)",
             stage.of_processes() ? fmt::format("--mpi {} ", name_of(stage.programs.mpi)) : "", scenario.seed,
             text(left_out));
  return EXIT_FAILURE;
}

int play_one(const Stage& stage, std::uint64_t seed, const Items& left_out) {
  const Scenario scenario = stage.draw(seed);
  fmt::print("{}", text(scenario, left_out));
  std::fflush(stdout);
  const Outcome outcome = play_apart(stage, scenario, left_out);
  fmt::print("{}\n", outcome.failed ? outcome.text : "well");
  return outcome.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int run(int argc, char** argv) {
  std::uint64_t from = 1;
  Limits limits;
  std::string left_out;
  bool goes_on = false;
  const auto bin = std::filesystem::canonical("/proc/self/exe").parent_path();
  Stage stage;
  std::string programs = bin;
  CLI::App app{"Plays random lives of jobs, and judges what comes back"};
  app.add_option("--from", from, "first seed");
  app.add_option("--seeds", limits.seeds, "how many; without --minutes: 100");
  app.add_option("--minutes", limits.minutes, "stop after that time");
  app.add_option("--without", left_out, "play one seed without these items (\"none\": all of it)");
  app.add_flag("--go-on", goes_on, "play all, and name those that fail");
  app.add_option("--mpi", stage.programs.mpirun, "by jobs of MPI, which this mpirun starts");
  const std::map<std::string, Mpi> kinds{{"openmpi", Mpi::open_mpi}, {"ulfm", Mpi::ulfm}, {"mpich", Mpi::mpich}};
  app.add_option("--kind", stage.programs.mpi, "which MPI that is")->transform(CLI::CheckedTransformer(kinds));
  app.add_option("--programs", programs, "where torture_program and heat are, built with it");
  CLI11_PARSE(app, argc, argv);
  stage.programs.program = std::filesystem::canonical(programs) / "torture_program";
  stage.programs.heat = std::filesystem::canonical(programs) / "heat";
  stage.programs.ckpt_run = bin / "ckpt-run";
  if (!left_out.empty()) return play_one(stage, from, parse_items(left_out));

  using Time = std::chrono::steady_clock;
  const auto start = Time::now();
  auto told = start;
  std::uint64_t played = 0;
  std::uint64_t failed = 0;
  for (; !limits.reached(played, Time::now() - start); ++played) {
    const Scenario scenario = stage.draw(from + played);
    const Outcome outcome = play_apart(stage, scenario, {});
    if (outcome.failed && !goes_on) return report(stage, scenario, outcome);
    if (outcome.failed) fmt::print("seed {} failed: {}\n", scenario.seed, outcome.text);
    failed += outcome.failed ? 1 : 0;
    if (Time::now() - told < std::chrono::seconds(10)) continue;
    told = Time::now();
    fmt::print("{} seeds, {:.0f} s{}\n", played + 1, std::chrono::duration<double>(told - start).count(), done(stage));
    std::fflush(stdout);
  }
  fmt::print("{} seeds from {} on: {}, {:.0f} s{}\n", played, from,
             failed == 0 ? "all well" : fmt::format("{} failed", failed),
             std::chrono::duration<double>(Time::now() - start).count(), done(stage));
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace cairn::torture

// Asked by the leak sanitizer. HDF5 1.10 loses memory of its own where a read inside it fails, or gives it a flipped
// bit; tests in which no read fails look for handles that we lose.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

int main(int argc, char** argv) { return cairn::torture::run(argc, argv); }
