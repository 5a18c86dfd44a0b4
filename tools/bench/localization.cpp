// How well faults are localized: plays clusters that fall ill (tests/support/sick_cluster), and prints the precision,
// the recall and the time from the threshold to the verdict of each fault.
//
//   bench-localization accuracy --nodes 16,32,64,128,1024 --seeds 51,100   exit code 1: below the goals
//   bench-localization window   --nodes 64 --seeds 51,100                  against the window T and the threshold
//   bench-localization noise    --nodes 16,64 --hours 24 --seeds 51,51     exit code 1: there was a false verdict
//
// Rules and thresholds were chosen with seeds 1 to 50: judge by others. All is simulated, so results are the same on
// any machine. At 1,024 nodes, 50 seeds of all faults and all troubles take about four minutes of one core.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "localize/words.hpp"
#include "support/sick_cluster.hpp"

namespace {

using namespace cairn::test;

constexpr double kLeastAccuracy = 0.95;
constexpr double kMostSeconds = 2;

struct Options {
  std::vector<std::uint32_t> nodes{16, 64};
  std::vector<std::uint64_t> seeds{51, 60};  // the first and the last
  std::vector<std::uint32_t> troubles{0, 1, 2, 3, 4, 5};
  double hours = 24;
  unsigned threads = 1;
  bool explain = false;
};

// One line of the table: a fault at a size, in a trouble.
struct Row {
  SickCase base;
  Accuracy accuracy;
};

std::string told(const cairn::localize::Verdict& verdict) {
  return fmt::format("{}; probes: {}", cairn::localize::verdict_text(verdict), cairn::localize::probes_text(verdict));
}

// Each sickness that no verdict names, and each false verdict, for whoever mends the rules.
void explain(const SickCase& one, const Judgement& judgement) {
  const auto seconds = [](cairn::localize::Time time) { return static_cast<double>(time.count()) / 1e6; };
  if (judgement.detected == judgement.sicknesses.size() && judgement.false_verdicts == 0) return;
  std::string text =
      fmt::format("{} nodes, {}, {}, seed {}:\n", one.nodes, name_of(one.trouble), name_of(*one.ailment), one.seed);
  for (const Sickness& sickness : judgement.sicknesses) {
    text += fmt::format("  at {:.1f} s: {} at node {}, {} nodes cut off\n", seconds(sickness.begins),
                        name_of(sickness.ailment), sickness.node.value, sickness.cut_off);
  }
  for (const Found& found : judgement.found) {
    text +=
        fmt::format("  at {:.1f} s, {}: {}\n", seconds(found.at), found.which ? "right" : "false", told(found.verdict));
  }
  fmt::print("{}", text);
}

void play_rows(std::vector<Row>& rows, const Options& options) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < rows.size(); i = next++) {
      SickCase one = rows[i].base;
      for (one.seed = options.seeds.front(); one.seed <= options.seeds.back(); ++one.seed) {
        const Judgement judgement = play(one);
        if (options.explain) explain(one, judgement);
        rows[i].accuracy.add(judgement);
      }
    }
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < options.threads; ++i) others.emplace_back(work);
  work();
}

bool good(const Accuracy& accuracy) {
  return accuracy.precision() >= kLeastAccuracy && accuracy.recall() >= kLeastAccuracy &&
         accuracy.median() <= kMostSeconds;
}

int accuracy(const Options& options) {
  int code = 0;
  fmt::print("{:>5} {:18} {:15} {:>5} {:>9} {:>6} {:>8}\n", "nodes", "trouble", "fault", "runs", "precision", "recall",
             "median s");
  for (const std::uint32_t nodes : options.nodes) {
    std::vector<Row> rows;
    for (const std::uint32_t trouble : options.troubles) {
      for (std::size_t ailment = 0; ailment < kAilments; ++ailment) {
        SickCase base;
        base.nodes = nodes;
        base.ailment = static_cast<Ailment>(ailment);
        base.trouble = static_cast<Trouble>(trouble);
        rows.push_back({base, {}});
      }
    }
    play_rows(rows, options);
    for (const Row& row : rows) {
      const bool misses = !good(row.accuracy);
      fmt::print("{:>5} {:18} {:15} {:>5} {:>9.3f} {:>6.3f} {:>8.2f}{}\n", nodes, name_of(row.base.trouble),
                 name_of(*row.base.ailment), options.seeds.back() - options.seeds.front() + 1, row.accuracy.precision(),
                 row.accuracy.recall(), row.accuracy.median(), misses ? "  misses the goal" : "");
      if (misses) code = 1;
    }
    std::fflush(stdout);
  }
  return code;
}

int window(const Options& options) {
  constexpr std::array kWindows{1, 2, 5, 10, 20};
  constexpr std::array kThresholds{1.0, 2.0, 3.0, 5.0, 8.0};
  fmt::print("precision / recall / median seconds from the start of a fault, of all faults together, {} nodes\n",
             options.nodes.front());
  fmt::print("{:>10}", "window");
  for (const double threshold : kThresholds) fmt::print("  threshold {:<11}", threshold);
  fmt::print("\n");
  for (const int seconds : kWindows) {
    fmt::print("{:>8} s", seconds);
    for (const double threshold : kThresholds) {
      std::vector<Row> rows;
      for (std::size_t ailment = 0; ailment < kAilments; ++ailment) {
        SickCase base;
        base.nodes = options.nodes.front();
        base.ailment = static_cast<Ailment>(ailment);
        base.settings.window = std::chrono::seconds(seconds);
        base.settings.threshold = threshold;
        rows.push_back({base, {}});
      }
      play_rows(rows, options);
      Accuracy all;
      for (const Row& row : rows) all.add(row.accuracy);
      fmt::print("  {:.3f} {:.3f} {:>6.2f} s", all.precision(), all.recall(), all.median_from_start());
      std::fflush(stdout);
    }
    fmt::print("\n");
  }
  return 0;
}

int noise(const Options& options) {
  int code = 0;
  for (const std::uint32_t nodes : options.nodes) {
    for (std::uint64_t seed = options.seeds.front(); seed <= options.seeds.back(); ++seed) {
      SickCase quiet;
      quiet.nodes = nodes;
      quiet.seed = seed;
      quiet.lasts = cairn::localize::Time(static_cast<std::int64_t>(options.hours * 3600e6));
      const Judgement judgement = play(quiet);
      fmt::print(
          "{} nodes, seed {}, {} h without a fault: {} verdicts, {} messages, at most {} items kept by one node\n",
          nodes, seed, options.hours, judgement.false_verdicts, judgement.messages, judgement.most_kept);
      for (const Found& found : judgement.found) {
        fmt::print("  at {:.1f} s: {}\n", static_cast<double>(found.at.count()) / 1e6, told(found.verdict));
      }
      if (judgement.false_verdicts > 0) code = 1;
      std::fflush(stdout);
    }
  }
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("How well faults are localized, in simulated clusters");
  Options options;
  app.require_subcommand(1);
  app.add_option("--nodes", options.nodes, "Numbers of nodes")->delimiter(',')->capture_default_str();
  app.add_option("--seeds", options.seeds, "The first and the last seed")
      ->delimiter(',')
      ->expected(2)
      ->capture_default_str();
  app.add_option("--troubles", options.troubles,
                 "0 none, 1 lossy, 2 analyst dead, 3 analyst overloaded, 4 analyst dies, 5 second fault")
      ->delimiter(',')
      ->check(CLI::Range(0U, static_cast<unsigned>(kTroubles) - 1));
  app.add_option("--hours", options.hours, "How long noise lasts")->capture_default_str();
  app.add_flag("--explain", options.explain, "Print each miss and each false verdict of a run");
  app.add_option("--threads", options.threads, "Threads")->capture_default_str();
  const auto* accuracy_command =
      app.add_subcommand("accuracy", "Precision, recall and time of each fault")->fallthrough();
  const auto* window_command =
      app.add_subcommand("window", "The same against the window and the threshold")->fallthrough();
  app.add_subcommand("noise", "Hours without a fault")->fallthrough();
  CLI11_PARSE(app, argc, argv);
  if (accuracy_command->parsed()) return accuracy(options);
  return window_command->parsed() ? window(options) : noise(options);
}
