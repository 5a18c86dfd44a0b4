// bench-slowdown: what checkpoints at fixed intervals cost an application that computes: the solver of examples/heat,
// the same number of steps with a snapshot at the beginning of each interval and without any, in turns. Each step
// changes the whole state. Beside it stands what the copies alone would cost: the time that all ranks take to copy
// their states at once, as a share of the interval.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cairn/cairn.hpp>

#include "codec/vector_registers.hpp"
#include "common.hpp"
#include "exchange.hpp"
#include "memory.hpp"
#include "plate.hpp"

namespace {

constexpr std::size_t kColumns = 1024;
constexpr int kCopies = 3;
// More than a rank has slots.
constexpr int kWarmUp = 8;
constexpr double kPercent = 100;

struct Options {
  bench::Setting setting;
  std::string config;
  std::uint64_t bytes = 64 * cairn::kMiB;
  std::string figure = "heat";
  int repetitions = 3;
  int snapshots = 6;
  double interval = 0.5;
  std::vector<int> levels;
};

class Meter {
 public:
  Meter(const Options& options, cairn::Session& session)
      : options_(options),
        session_(session),
        ranks_(session.comm()),
        extent_{std::max<std::size_t>(1, options.bytes / (kColumns * sizeof(double))) * ranks_.size(), kColumns},
        plate_(extent_, heat::block_of(ranks_.rank(), ranks_.size(), extent_.rows)) {
    session.protect("plate", plate_.cells());
    session.restore();
  }

  void measure() {
    for (const int level : options_.levels) measure_level(static_cast<cairn::LevelId>(level));
  }

 private:
  struct Times {
    bench::Values with, without;
    std::vector<bench::Span> copies;
  };

  // From a run that is long enough to be typical. The same on all ranks.
  int steps_of_interval() {
    for (int steps = 1;; steps *= 2) {
      const double took = ranks_.slowest(bench::Values{run_steps(steps)})[0];
      if (took >= options_.interval) return static_cast<int>(std::ceil(steps * options_.interval / took));
    }
  }

  void measure_level(cairn::LevelId level) {
    for (int i = 0; i < kWarmUp; ++i) {
      session_.snapshot(level);
      session_.wait(level);
    }
    // Steps that are to be free of snapshots must not be slow because of an earlier one, should it leave these in use.
    cairn::clear_upper_halves();
    steps_ = steps_of_interval();
    Times times;
    for (int i = 0; i < options_.repetitions; ++i) {
      cairn::clear_upper_halves();
      times.without.push_back(run_steps(steps_ * options_.snapshots));
      for (int copy = 0; copy < kCopies; ++copy) times.copies.push_back(time_copy());
      times.with.push_back(run_with_snapshots(level));
    }
    report(level, times);
  }

  // Work that is still under way at the end is not waited for: it had an interval's steps beside it, as all before it.
  double run_with_snapshots(cairn::LevelId level) {
    ranks_.meet();
    const double start = bench::now();
    for (int i = 0; i < options_.snapshots; ++i) {
      session_.snapshot(level);
      run_steps_now(steps_);
    }
    const double took = bench::now() - start;
    session_.wait(level);
    return took;
  }

  bench::Span time_copy() {
    const auto& cells = plate_.cells();
    run_steps_now(1);
    caches_.displace();
    return bench::time_step(ranks_, bench::Who::all,
                            [&] { std::memcpy(target_.data(), cells.data(), cells.size() * sizeof(double)); });
  }

  void report(cairn::LevelId level, const Times& times) {
    const bench::Records records(options_.setting, ranks_.rank() == 0);
    const auto with = ranks_.slowest(times.with);
    const auto without = ranks_.slowest(times.without);
    const double copy = bench::median(ranks_.slowest(times.copies));
    bench::Figure figure{.group = "slow-down"};
    figure.name = fmt::format("{}, snapshots at L{}", options_.figure, static_cast<int>(level));
    figure.unit = "%";
    figure.limit = "the copies alone";
    for (std::size_t i = 0; i < with.size(); ++i) {
      figure.values.push_back((with[i] / without[i] - 1) * kPercent);
      figure.limit_values.push_back(copy * options_.snapshots / without[i] * kPercent);
    }
    figure.facts = {{"bytes_per_rank", static_cast<double>(plate_.cells().size() * sizeof(double))},
                    {"ranks", static_cast<double>(ranks_.size())},
                    {"interval_s", bench::median(without) / options_.snapshots},
                    {"copy_s", copy},
                    {"steps_per_interval", static_cast<double>(steps_)},
                    {"snapshots", static_cast<double>(options_.snapshots)}};
    records.add(figure);
    figure.name += ": time";
    figure.unit = "s";
    figure.values = with;
    figure.limit = "heat alone";
    figure.limit_values = without;
    records.add(figure);
  }

  double run_steps(int steps) {
    ranks_.meet();
    const double start = bench::now();
    run_steps_now(steps);
    return bench::now() - start;
  }

  void run_steps_now(int steps) {
    for (int step = 0; step < steps; ++step) {
      heat::exchange_halos(plate_, ranks_.comm());
      plate_.relax();
    }
  }

  const Options& options_;
  cairn::Session& session_;
  bench::Ranks ranks_;
  heat::Extent extent_;
  heat::Plate plate_;
  std::vector<double> target_ = plate_.cells();
  bench::Caches caches_;
  int steps_ = 1;  // of an interval
};

void measure(const Options& options) {
  const auto session = cairn::Session::open(MPI_COMM_WORLD, options.config);
  if (session) Meter(options, *session).measure();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times an application with and without snapshots.", "bench-slowdown"};
  bench::add_options(app, options.setting);
  app.add_option("--config", options.config, "Cairn's INI file")->required();
  app.add_option("--bytes", options.bytes, "Bytes of each rank")->check(CLI::Range(1024UL, 1UL << 40));
  app.add_option("--repetitions", options.repetitions, "Timed repetitions")->check(CLI::PositiveNumber);
  app.add_option("--figure", options.figure, "Beginning of the figures' names");
  app.add_option("--snapshots", options.snapshots, "Intervals of each repetition")->check(CLI::PositiveNumber);
  app.add_option("--interval", options.interval, "Seconds from one snapshot to the next")->check(CLI::PositiveNumber);
  app.add_option("--levels", options.levels, "Levels to measure")->delimiter(',')->required()->check(CLI::Range(1, 4));
  return bench::run(argc, argv, app, options.setting, [&] { measure(options); });
}
