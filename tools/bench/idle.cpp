// bench-idle: the processor time that heads take while nothing happens: after a snapshot, the application sleeps. It is
// what all threads of a process that runs a head take.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <cairn/cairn.hpp>

#include "common.hpp"
#include "memory.hpp"
#include "processor.hpp"

namespace {

// After this time, heads that have just worked sleep for their longest interval.
constexpr double kSettleSeconds = 1.0;

struct Options {
  bench::Setting setting;
  std::string config;
  double seconds = 3;
  int repetitions = 1;
};

// The processes of ranks that do not compute; in the modes without such ranks all processes, since the application
// sleeps.
std::vector<long> head_processes(const std::vector<long>& world, const std::vector<long>& application) {
  std::vector<long> heads;
  std::ranges::copy_if(world, std::back_inserter(heads),
                       [&](long process) { return std::ranges::find(application, process) == application.end(); });
  return heads.empty() ? application : heads;
}

void measure(const Options& options) {
  const auto world = bench::processes_of(MPI_COMM_WORLD);
  const auto session = cairn::Session::open(MPI_COMM_WORLD, options.config);
  if (!session) return;
  const bench::Ranks ranks(session->comm());
  const auto heads = head_processes(world, bench::processes_of(session->comm()));
  bench::Buffers buffers(cairn::kMiB);
  session->protect("state", buffers.source().data(), buffers.source().size());
  session->restore();
  session->snapshot(cairn::LevelId::local);
  session->wait(cairn::LevelId::local);
  bench::sleep_for(kSettleSeconds);

  bench::Values shares;
  for (int i = 0; i < options.repetitions; ++i) {
    ranks.meet();
    std::vector<double> before;
    std::ranges::transform(heads, std::back_inserter(before), bench::processor_seconds);
    const double start = bench::now();
    bench::sleep_for(options.seconds);
    const double passed = bench::now() - start;
    double worst = 0;
    for (std::size_t h = 0; h < heads.size(); ++h)
      worst = std::max(worst, bench::processor_seconds(heads[h]) - before[h]);
    shares.push_back(worst / passed);
  }
  const bench::Records records(options.setting, ranks.rank() == 0);
  records.add({.group = "idle",
               .name = "an idle head, the busiest",
               .values = shares,
               .unit = "cores",
               .facts = {{"ranks", static_cast<double>(ranks.size())}}});
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Measures the processor time of heads that have nothing to do.", "bench-idle"};
  bench::add_options(app, options.setting);
  app.add_option("--config", options.config, "Cairn's INI file")->required();
  app.add_option("--seconds", options.seconds, "How long to look")->check(CLI::PositiveNumber);
  app.add_option("--repetitions", options.repetitions, "How often")->check(CLI::PositiveNumber);
  return bench::run(argc, argv, app, options.setting, [&] { measure(options); });
}
