// bench-slowdown: what checkpoints in the background cost an application that computes: the solver of examples/heat,
// the same number of steps with a snapshot at their beginning and without one, in turns.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cairn/cairn.hpp>

#include "common.hpp"
#include "exchange.hpp"
#include "plate.hpp"

namespace {

constexpr std::size_t kColumns = 1024;

struct Options {
  bench::Setting setting;
  std::string config;
  std::uint64_t bytes = 64 * cairn::kMiB;
  int repetitions = 3;
  double segment_seconds = 1;
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
    run_steps(1);
    const double step = ranks_.slowest(bench::Values{run_steps(1)})[0];
    const int steps = static_cast<int>(ranks_.from_first(std::ceil(options_.segment_seconds / step)));
    for (const int level : options_.levels) measure_level(static_cast<cairn::LevelId>(level), steps);
  }

 private:
  void measure_level(cairn::LevelId level, int steps) {
    bench::Values without, with;
    // The first round warms up.
    for (int i = 0; i <= options_.repetitions; ++i) {
      const double plain = run_steps(steps);
      ranks_.meet();
      const double start = bench::now();
      session_.snapshot(level);
      run_steps_now(steps);
      const double saved = bench::now() - start;
      session_.wait(level);
      if (i == 0) continue;
      without.push_back(plain);
      with.push_back(saved);
    }
    report(level, steps, ranks_.slowest(with), ranks_.slowest(without));
  }

  void report(cairn::LevelId level, int steps, const bench::Values& with, const bench::Values& without) {
    const bench::Records records(options_.setting, ranks_.rank() == 0);
    const auto name = fmt::format("L{}", static_cast<int>(level));
    bench::Figure figure{.group = "slow-down", .name = fmt::format("heat, {} steps, one snapshot at {}", steps, name)};
    figure.values = with;
    figure.limit = "heat alone";
    figure.limit_values = without;
    figure.facts = {{"bytes_per_rank", static_cast<double>(plate_.cells().size() * sizeof(double))},
                    {"ranks", static_cast<double>(ranks_.size())},
                    {"interval_s", bench::median(with)}};
    records.add(figure);
    figure.name = "what a snapshot at " + name + " costs heat";
    figure.limit.clear();
    std::ranges::transform(with, without, figure.values.begin(), std::minus<>());
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
  app.add_option("--segment", options.segment_seconds, "Seconds to compute for each snapshot")
      ->check(CLI::PositiveNumber);
  app.add_option("--levels", options.levels, "Levels to measure")->delimiter(',')->required()->check(CLI::Range(1, 4));
  return bench::run(argc, argv, app, options.setting, [&] { measure(options); });
}
