// torture [--from SEED] [--seeds N] [--minutes M] [--without ITEMS]: plays scenarios, each in a process of its own,
// until one fails; shrinks that, and says how to play it again. --without: one scenario, and what to leave out of it.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

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

// In a process of its own: a crash, a hang and a leak are failures like others.
Outcome play_apart(const Scenario& scenario) {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const std::string wrong = play(scenario, *make_thread_cluster());
    if (!wrong.empty() && write(ends[1], wrong.data(), wrong.size()) < 0) std::abort();
    close(ends[1]);
    std::exit(wrong.empty() ? 0 : 1);
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

// Threads do not run the same way twice, so each is tried a few times.
bool still_fails(const Scenario& scenario, const Items& left_out) {
  constexpr int kTries = 3;
  const Scenario smaller = without(scenario, left_out);
  for (int i = 0; i < kTries; ++i) {
    if (play_apart(smaller).failed) return true;
  }
  return false;
}

// Leaves out runs of items, long ones first, as long as it still fails.
Items shrink(const Scenario& scenario) {
  const std::uint32_t count = count_items(scenario);
  Items left_out;
  for (std::uint32_t run = std::max(count / 2, 1U); run > 0; run /= 2) {
    for (std::uint32_t first = 0; first < count; first += run) {
      Items more = left_out;
      for (std::uint32_t item = first; item < std::min(first + run, count); ++item) more.insert(item);
      if (more != left_out && still_fails(scenario, more)) left_out = more;
    }
  }
  return left_out;
}

Items parse_items(const std::vector<std::uint32_t>& numbers) { return {numbers.begin(), numbers.end()}; }

int report(const Scenario& scenario, const Outcome& outcome) {
  fmt::print("seed {} failed: {}\nshrinking ...\n", scenario.seed, outcome.text);
  std::fflush(stdout);
  const Items left_out = shrink(scenario);
  const Outcome smaller = play_apart(without(scenario, left_out));
  fmt::print("{}fails: {}\nplay it again: tools/torture.sh --from {} --without {}\n", text(scenario, left_out),
             smaller.failed ? smaller.text : "(not each time)", scenario.seed,
             left_out.empty() ? "none" : fmt::format("{}", fmt::join(left_out, ",")));
  return EXIT_FAILURE;
}

int play_one(std::uint64_t seed, const std::string& list) {
  std::vector<std::uint32_t> numbers;
  if (list != "none") {
    for (const std::string& number : CLI::detail::split(list, ','))
      numbers.push_back(static_cast<std::uint32_t>(std::stoul(number)));
  }
  const Scenario scenario = draw(seed);
  const Items left_out = parse_items(numbers);
  fmt::print("{}", text(scenario, left_out));
  std::fflush(stdout);
  const Outcome outcome = play_apart(without(scenario, left_out));
  fmt::print("{}\n", outcome.failed ? outcome.text : "well");
  return outcome.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int run(int argc, char** argv) {
  std::uint64_t from = 1;
  std::uint64_t seeds = 100;
  double minutes = 0;
  std::string left_out;
  CLI::App app{"Plays random lives of jobs, and judges what comes back"};
  app.add_option("--from", from, "first seed");
  app.add_option("--seeds", seeds, "how many; with --minutes: at most");
  app.add_option("--minutes", minutes, "stop after that time");
  app.add_option("--without", left_out, "play one seed without these items (\"none\": all of it)");
  CLI11_PARSE(app, argc, argv);
  if (!left_out.empty()) return play_one(from, left_out);

  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  auto told = start;
  std::uint64_t played = 0;
  for (; played < seeds; ++played) {
    if (minutes > 0 && Clock::now() - start > std::chrono::duration<double, std::ratio<60>>(minutes)) break;
    const Scenario scenario = draw(from + played);
    const Outcome outcome = play_apart(scenario);
    if (outcome.failed) return report(scenario, outcome);
    if (Clock::now() - told < std::chrono::seconds(10)) continue;
    told = Clock::now();
    fmt::print("{} seeds, {:.0f} s\n", played + 1, std::chrono::duration<double>(told - start).count());
    std::fflush(stdout);
  }
  fmt::print("{} seeds from {} on: all well, {:.0f} s\n", played, from,
             std::chrono::duration<double>(Clock::now() - start).count());
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace cairn::torture

int main(int argc, char** argv) { return cairn::torture::run(argc, argv); }
