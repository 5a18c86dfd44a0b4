// bench-regions: what many small regions cost. Its first life times a restore() that finds no snapshot, and snapshots
// at L1. It is then abandoned, as a job that is killed leaves them; every later life is a new process that times
// protect() of all regions and restore(), and checks the bytes. All open their session before anything is timed.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cairn/cairn.hpp>

#include "common.hpp"
#include "memory.hpp"

namespace {

// More than a rank has slots.
constexpr int kWarmUp = 8;
constexpr std::uint64_t kLast = 0;

struct Options {
  bench::Setting setting;
  std::string config;
  std::string figure = "regions";
  std::size_t regions = 10000;
  std::uint64_t region_bytes = cairn::kKiB;
  int snapshots = 0;   // 0: come back
  bool fresh = false;  // only start
};

class Meter {
 public:
  Meter(const Options& options, cairn::Session& session)
      : options_(options),
        session_(session),
        ranks_(session.comm()),
        records_(options.setting, ranks_.rank() == 0),
        buffers_(options.regions * options.region_bytes) {
    for (std::size_t i = 0; i < options.regions; ++i) names_.push_back(fmt::format("region {:06}", i));
  }

  void start() {
    add("protect", {protect()}, {});
    const auto [seconds, restored] = restore();
    if (restored) throw std::runtime_error("there is a snapshot already");
    add("fresh start", {seconds}, {});
  }

  void leave() {
    start();
    for (int i = 0; i < kWarmUp; ++i) take(seed(kLast + 1));
    bench::Values visible;
    std::vector<bench::Span> copies;
    for (int left = options_.snapshots; left > 0; --left) {
      make_state(seed(static_cast<std::uint64_t>(left)));
      copies.push_back(bench::time_copy(ranks_, buffers_, bench::Who::all));
      visible.push_back(take(seed(kLast + static_cast<std::uint64_t>(left - 1))));
    }
    add("L1 visible", visible, ranks_.slowest(copies));
  }

  void come_back() {
    add("protect", {protect()}, {});
    const auto [seconds, restored] = restore();
    if (!restored) throw std::runtime_error("there was no snapshot to restore");
    check();
    add("restore from L1", {seconds}, {});
  }

 private:
  // How long it took, and whether there was a snapshot.
  std::pair<double, bool> restore() {
    caches_.displace();
    ranks_.meet();
    const double start = bench::now();
    const auto report = session_.restore();
    return {bench::now() - start, report.restored};
  }

  double protect() {
    caches_.displace();
    ranks_.meet();
    const double start = bench::now();
    for (std::size_t i = 0; i < options_.regions; ++i) {
      session_.protect(names_[i], buffers_.source().data() + i * options_.region_bytes, options_.region_bytes);
    }
    return bench::now() - start;
  }

  double take(std::uint64_t seed) {
    make_state(seed);
    ranks_.meet();
    const double start = bench::now();
    session_.snapshot(cairn::LevelId::local);
    const double visible = bench::now() - start;
    session_.wait(cairn::LevelId::local);
    return visible;
  }

  void make_state(std::uint64_t seed) {
    buffers_.rewrite(seed);
    caches_.displace();
  }

  [[nodiscard]] std::uint64_t seed(std::uint64_t change) const { return (ranks_.rank() + 1) * 1000003 + change; }

  // The same bytes as those of the last snapshot.
  void check() {
    bench::Buffers expected(buffers_.source().size());
    expected.rewrite(seed(kLast));
    if (!std::ranges::equal(expected.source(), buffers_.source()))
      throw std::runtime_error("the restored bytes are not those of the last snapshot");
  }

  void add(const std::string& what, const bench::Values& mine, bench::Values copies) {
    bench::Figure figure{.group = "regions", .name = options_.figure + ": " + what, .values = ranks_.slowest(mine)};
    if (!copies.empty()) figure.limit = "copy, all ranks";
    figure.limit_values = std::move(copies);
    figure.facts = {{"regions", static_cast<double>(options_.regions)},
                    {"region_bytes", static_cast<double>(options_.region_bytes)},
                    {"ranks", static_cast<double>(ranks_.size())}};
    records_.add(figure);
  }

  const Options& options_;
  cairn::Session& session_;
  bench::Ranks ranks_;
  bench::Records records_;
  bench::Buffers buffers_;
  bench::Caches caches_;
  std::vector<std::string> names_;
};

void measure(const Options& options) {
  const auto session = cairn::Session::open(MPI_COMM_WORLD, options.config);
  if (!session) return;
  Meter meter(options, *session);
  if (options.snapshots > 0)
    meter.leave();
  else if (options.fresh)
    meter.start();
  else
    meter.come_back();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times many small regions.", "bench-regions"};
  bench::add_options(app, options.setting);
  app.add_option("--config", options.config, "Cairn's INI file")->required();
  app.add_option("--figure", options.figure, "Beginning of the figures' names");
  app.add_option("--regions", options.regions, "Regions of each rank")->check(CLI::PositiveNumber);
  app.add_option("--region-bytes", options.region_bytes, "Bytes of each")->check(CLI::Range(8UL, 1UL << 30));
  app.add_option("--leave", options.snapshots, "Take this many snapshots at L1, and leave them")
      ->check(CLI::PositiveNumber);
  app.add_flag("--fresh", options.fresh, "Take no snapshot; there must be none");
  return bench::run(argc, argv, app, options.setting, [&] { measure(options); });
}
