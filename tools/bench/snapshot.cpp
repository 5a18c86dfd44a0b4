// bench-snapshot: what a snapshot costs the application, and when it is safe, at each level. Before each one the whole
// state is rewritten and the caches are displaced; neither is timed. Copies of the same bytes by the same ranks, all at
// once, are timed in between under the same conditions, so that a slow minute of the machine hits both.
//
//   visible         the call of snapshot() alone, waiting for a free slot included, with all earlier work done
//   until safe      from entering snapshot() to the return of wait(level); with it, the processor time that all
//                   processes of the job take until then, heads included. Ranks that wait() poll, which is in it too
//   at an interval  visible again, without any wait(): a snapshot every 1.2 × until safe, after its rewriting
//   back to back    visible again, without any wait() and without a pause but for the rewriting, and how long
//                   snapshot() waited in it for a free slot
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cairn/cairn.hpp>

#include "common.hpp"
#include "memory.hpp"
#include "processor.hpp"

namespace {

constexpr double kIntervalOfSafe = 1.2;
constexpr auto kCopy = "copy, all ranks";
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
  bool only_first = false;
};

// A snapshot as one rank saw it.
struct Times {
  bench::Values visible, waited, started;
  std::vector<bench::Span> safe;
};

// Copies of the same bytes: what snapshots are divided by.
struct Copies {
  std::vector<bench::Span> spans;
  bench::ProcessorMeter processor;
};

class Meter {
 public:
  Meter(const Options& options, cairn::Session& session, std::vector<long> processes)
      : options_(options),
        session_(session),
        ranks_(session.comm()),
        processes_(std::move(processes)),
        records_(options.setting, ranks_.rank() == 0),
        buffers_(options.bytes),
        plain_file_(options.plain + "/plain" + std::to_string(ranks_.rank())) {
    session.protect("state", buffers_.source().data(), buffers_.source().size());
    session.restore();
  }

  void measure() {
    first_snapshots();
    if (options_.only_first) return;
    for (const int level : options_.levels) measure_level(static_cast<cairn::LevelId>(level));
  }

 private:
  // Into stores and mappings that are not warm yet.
  void first_snapshots() {
    Times times;
    warm_up(cairn::LevelId::local, kFirst, times);
    const bench::Values visible = ranks_.slowest(times.visible);
    if (options_.only_first) {
      add({.name = "first snapshot of a run", .values = {visible[0]}});
      add({.name = "second snapshot of a run", .values = {visible[1]}});
      return;
    }
    add({.name = "L1 visible, first five snapshots", .values = visible, .series = true});
    warm_up(cairn::LevelId::local, kWarmUp - kFirst, times);
  }

  void measure_level(cairn::LevelId level) {
    Times times;
    // Heads have files of their own to warm up.
    warm_up(level, 2, times);
    times = {};
    Copies copies{.spans = {}, .processor = meter()};
    bench::ProcessorMeter processor = meter();
    std::vector<bench::Span> plain;
    for (int i = 0; i < options_.repetitions; ++i) {
      time_copy(copies);
      if (level == cairn::LevelId::global) plain.push_back(time_plain_writers());
      make_state();
      processor.start();
      take_and_wait(level, times);
      processor.stop();
    }
    const auto name = fmt::format("L{}", static_cast<int>(level));
    add_over_copy(name + " visible", ranks_.slowest(times.visible), copies, interval_of(times));
    const auto safe = ranks_.together(times.safe);
    if (level == cairn::LevelId::global) {
      add({.name = name + " until synced",
           .values = safe,
           .limit = "plain writers, synced",
           .limit_values = ranks_.together(plain),
           .as_rate = true});
    }
    add({.name = name + " until safe",
         .values = safe,
         .limit = kCopy,
         .limit_values = ranks_.together(copies.spans),
         .cpu = processor.seconds(),
         .limit_cpu = copies.processor.seconds()});
    if (!options_.streams) return;
    measure_paced(level, name, copies, bench::median(safe));
    measure_back_to_back(level, name, copies);
  }

  void measure_paced(cairn::LevelId level, const std::string& name, const Copies& copies, double safe) {
    const double interval = ranks_.from_first(std::max(kShortestInterval, kIntervalOfSafe * safe));
    Times times;
    for (int i = 0; i < options_.repetitions; ++i) {
      make_state();
      const double next = bench::now() + interval;
      take(level, times);
      bench::sleep_for(next - bench::now());
    }
    session_.wait(level);
    add_over_copy(name + " visible, at an interval", ranks_.slowest(times.visible), copies, interval_of(times));
  }

  void measure_back_to_back(cairn::LevelId level, const std::string& name, const Copies& copies) {
    Times times;
    const int snapshots = std::max(options_.repetitions, kWarmUp);
    for (int i = 0; i < snapshots; ++i) {
      make_state();
      take(level, times);
    }
    session_.wait(level);
    add_over_copy(name + " visible, back to back", ranks_.slowest(times.visible), copies, interval_of(times));
    add({.name = name + " waited of it, back to back", .values = ranks_.slowest(times.waited)});
  }

  // What an application does between snapshots: it changes its state, and other memory as well. Returns when all ranks
  // have: a rank that still does would take a core from what is timed.
  void make_state() {
    buffers_.rewrite(++changes_);
    caches_.displace();
    ranks_.meet();
  }

  void time_copy(Copies& copies) {
    make_state();
    copies.processor.start();
    copies.spans.push_back(bench::time_copy(ranks_, buffers_, bench::Who::all));
    copies.processor.stop();
  }

  void warm_up(cairn::LevelId level, int snapshots, Times& times) {
    for (int i = 0; i < snapshots; ++i) {
      make_state();
      take_and_wait(level, times);
    }
  }

  // With all earlier work done, when all ranks are here, and until it is safe.
  void take_and_wait(cairn::LevelId level, Times& times) {
    ranks_.meet();
    take(level, times);
    session_.wait(level);
    times.safe.push_back({times.started.back(), bench::now()});
  }

  void take(cairn::LevelId level, Times& times) {
    const double waited = session_.waited_seconds();
    const double start = bench::now();
    session_.snapshot(level);
    times.visible.push_back(bench::now() - start);
    times.waited.push_back(session_.waited_seconds() - waited);
    times.started.push_back(start);
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

  void add_over_copy(std::string name, bench::Values values, const Copies& copies, double interval) {
    bench::Figure figure{.name = std::move(name),
                         .values = std::move(values),
                         .limit = kCopy,
                         .limit_values = ranks_.slowest(copies.spans)};
    if (interval > 0) figure.facts["interval_s"] = interval;
    add(std::move(figure));
  }

  void add(bench::Figure figure) {
    figure.group = options_.group;
    figure.facts["bytes_per_rank"] = static_cast<double>(options_.bytes);
    figure.facts["ranks"] = static_cast<double>(ranks_.size());
    records_.add(figure);
  }

  [[nodiscard]] bench::ProcessorMeter meter() const { return {ranks_, processes_}; }

  const Options& options_;
  cairn::Session& session_;
  bench::Ranks ranks_;
  std::vector<long> processes_;
  bench::Records records_;
  bench::Buffers buffers_;
  bench::Caches caches_;
  std::string plain_file_;
  std::uint64_t changes_ = 0;
};

void measure(const Options& options) {
  auto processes = bench::processes_of(MPI_COMM_WORLD);
  const auto session = cairn::Session::open(MPI_COMM_WORLD, options.config);
  // The session is abandoned, not finalized; the script removes what it leaves in its stores.
  if (session) Meter(options, *session, std::move(processes)).measure();
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
  app.add_flag("--only-first", options.only_first, "Only the first two snapshots of the run");
  app.add_flag("!--no-streams", options.streams, "Only snapshots that are waited for");
  return bench::run(argc, argv, app, options.setting, [&] { measure(options); });
}
