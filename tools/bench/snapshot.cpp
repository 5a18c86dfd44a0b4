// bench-snapshot: what a snapshot costs the application, and when it is safe, at each level. Copies of the same bytes
// are timed in between, so that a slow minute of the machine hits both.
//
//   visible         the call of snapshot() alone, waiting for a free slot included, with all earlier work done
//   until safe      from entering snapshot() to the return of wait(level)
//   at an interval  visible again, without any wait(): a snapshot every 1.2 × until safe
//   back to back    many snapshots without a pause, until the last is safe: the time of each, and how long
//                   snapshot() waited in it for a free slot
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cairn/cairn.hpp>

#include "common.hpp"

namespace {

constexpr double kIntervalOfSafe = 1.2;
constexpr double kShortestInterval = 0.002;
constexpr int kFirst = 5;
// More than a rank has slots: for kept snapshots, copies, codes, and two under way.
constexpr int kWarmUp = 8;

struct Options {
  bench::Setting setting;
  std::string config;
  std::string group = "levels";
  std::uint64_t bytes = 64 * cairn::kMiB;
  int repetitions = 9;
  std::vector<int> levels;
  std::string plain;  // directory on the global store's file system
  bool streams = true;
};

// A snapshot as one rank saw it.
struct Times {
  bench::Values visible, waited, started;
  std::vector<bench::Span> safe;
};

class Meter {
 public:
  Meter(const Options& options, cairn::Session& session)
      : options_(options),
        session_(session),
        ranks_(session.comm()),
        records_(options.setting, ranks_.rank() == 0),
        buffers_(options.bytes),
        plain_file_(options.plain + "/plain" + std::to_string(ranks_.rank())) {
    session.protect("state", buffers_.source().data(), buffers_.source().size());
    session.restore();
  }

  void measure() {
    first_snapshots();
    measure_copies();
    for (const int level : options_.levels) measure_level(static_cast<cairn::LevelId>(level));
  }

 private:
  // Into stores and mappings that are not warm yet.
  void first_snapshots() {
    Times times;
    for (int i = 0; i < kFirst; ++i) take(cairn::LevelId::local, times, true);
    add({.name = "L1 visible, first five snapshots", .values = ranks_.slowest(times.visible), .series = true});
    for (int i = kFirst; i < kWarmUp; ++i) take(cairn::LevelId::local, times, true);
  }

  void measure_copies() {
    std::vector<bench::Span> one, all;
    for (int i = 0; i < options_.repetitions; ++i) {
      one.push_back(bench::time_copy(ranks_, buffers_, bench::Who::one));
      all.push_back(bench::time_copy(ranks_, buffers_, bench::Who::all));
    }
    add({.name = "copy, all ranks",
         .values = ranks_.together(all),
         .limit = "copy, 1 core",
         .limit_values = ranks_.together(one)});
  }

  void measure_level(cairn::LevelId level) {
    Times times;
    // Heads have files of their own to warm up.
    for (int i = 0; i < 2; ++i) take(level, times, true);
    times = {};
    std::vector<bench::Span> copied, plain;
    for (int i = 0; i < options_.repetitions; ++i) {
      copied.push_back(bench::time_copy(ranks_, buffers_, bench::Who::one));
      if (level == cairn::LevelId::global) plain.push_back(time_plain_writers());
      take(level, times, true);
    }
    const auto copies = ranks_.together(copied);
    const auto safe = ranks_.together(times.safe);
    const auto name = fmt::format("L{}", static_cast<int>(level));
    add_over_copy(name + " visible", ranks_.slowest(times.visible), copies, interval_of(times));
    if (level == cairn::LevelId::global) {
      add({.name = name + " until synced",
           .values = safe,
           .limit = "plain writers, synced",
           .limit_values = ranks_.together(plain),
           .as_rate = true});
    } else {
      add_over_copy(name + " until safe", safe, copies, 0);
    }
    if (options_.streams) measure_streams(level, name, copies, bench::median(safe));
  }

  void measure_streams(cairn::LevelId level, const std::string& name, const bench::Values& copies, double safe) {
    const double interval = ranks_.from_first(std::max(kShortestInterval, kIntervalOfSafe * safe));
    Times paced;
    for (int i = 0; i < options_.repetitions; ++i) {
      const double next = bench::now() + interval;
      take(level, paced, false);
      bench::sleep_for(next - bench::now());
    }
    session_.wait(level);
    add_over_copy(name + " visible, at an interval", ranks_.slowest(paced.visible), copies, interval_of(paced));

    Times stream;
    ranks_.meet();
    const double start = bench::now();
    const int snapshots = std::max(options_.repetitions, kWarmUp);
    for (int i = 0; i < snapshots; ++i) take(level, stream, false);
    session_.wait(level);
    const double each = (bench::now() - start) / snapshots;
    const double waited = std::accumulate(stream.waited.begin(), stream.waited.end(), 0.0) / snapshots;
    add_over_copy(name + " back to back, each", ranks_.slowest({each}), copies, 0);
    add({.name = name + " back to back, waited of each", .values = ranks_.slowest({waited})});
  }

  // `alone`: when all ranks are here, and until it is safe.
  void take(cairn::LevelId level, Times& times, bool alone) {
    buffers_.change(++changes_);
    if (alone) ranks_.meet();
    const double waited = session_.waited_seconds();
    const double start = bench::now();
    session_.snapshot(level);
    times.visible.push_back(bench::now() - start);
    times.waited.push_back(session_.waited_seconds() - waited);
    times.started.push_back(start);
    if (!alone) return;
    session_.wait(level);
    times.safe.push_back({start, bench::now()});
  }

  // Every rank a new file, synced.
  bench::Span time_plain_writers() {
    const bench::Span took = bench::time_step(ranks_, bench::Who::all, [&] {
      bench::write_file(plain_file_, buffers_.source(), bench::Write::fresh_synced);
    });
    bench::remove_file(plain_file_);
    return took;
  }

  static double interval_of(const Times& times) {
    bench::Values gaps;
    for (std::size_t i = 1; i < times.started.size(); ++i) gaps.push_back(times.started[i] - times.started[i - 1]);
    return bench::median(gaps);
  }

  void add_over_copy(std::string name, bench::Values values, const bench::Values& copies, double interval) {
    bench::Figure figure{
        .name = std::move(name), .values = std::move(values), .limit = "copy, 1 core", .limit_values = copies};
    if (interval > 0) figure.facts["interval_s"] = interval;
    add(std::move(figure));
  }

  void add(bench::Figure figure) {
    figure.group = options_.group;
    figure.facts["bytes_per_rank"] = static_cast<double>(options_.bytes);
    figure.facts["ranks"] = static_cast<double>(ranks_.size());
    records_.add(figure);
  }

  const Options& options_;
  cairn::Session& session_;
  bench::Ranks ranks_;
  bench::Records records_;
  bench::Buffers buffers_;
  std::string plain_file_;
  std::uint64_t changes_ = 0;
};

void measure(const Options& options) {
  const auto session = cairn::Session::open(MPI_COMM_WORLD, options.config);
  // The session is abandoned, not finalized; the script removes what it leaves in its stores.
  if (session) Meter(options, *session).measure();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times snapshots at each level, and copies of the same bytes.", "bench-snapshot"};
  bench::add_options(app, options.setting);
  app.add_option("--config", options.config, "Cairn's INI file, with every level on that is to be measured")
      ->required();
  app.add_option("--group", options.group, "Group of the records");
  app.add_option("--bytes", options.bytes, "Bytes of each rank")->check(CLI::Range(1024UL, 1UL << 40));
  app.add_option("--repetitions", options.repetitions, "Timed repetitions")->check(CLI::PositiveNumber);
  app.add_option("--levels", options.levels, "Levels to measure")->delimiter(',')->required()->check(CLI::Range(1, 4));
  app.add_option("--plain", options.plain, "Directory for plain writers, on the global store's file system")
      ->required();
  app.add_flag("!--no-streams", options.streams, "Only snapshots that are waited for");
  return bench::run(argc, argv, app, options.setting, [&] { measure(options); });
}
