// bench-open: how long Session::open takes in a new job, where there is nothing to come back to. One opening for each
// start of the program; the script clears the stores in between.
#include <string>

#include <CLI/CLI.hpp>
#include <cairn/cairn.hpp>

#include "common.hpp"
#include "memory.hpp"

namespace {

struct Options {
  bench::Setting setting;
  std::string config;
};

void measure(const Options& options) {
  const bench::Ranks world(MPI_COMM_WORLD);
  bench::Caches caches;
  caches.displace();
  world.meet();
  const double start = bench::now();
  const auto session = cairn::Session::open(MPI_COMM_WORLD, options.config);
  if (!session) return;
  const double opened = bench::now() - start;

  const bench::Ranks ranks(session->comm());
  const auto slowest = ranks.slowest(bench::Values{opened});
  const bench::Records records(options.setting, ranks.rank() == 0);
  records.add({.group = "opening",
               .name = "opening a session",
               .values = slowest,
               .facts = {{"ranks", static_cast<double>(ranks.size())}}});
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times the opening of a session.", "bench-open"};
  bench::add_options(app, options.setting);
  app.add_option("--config", options.config, "Cairn's INI file")->required();
  return bench::run(argc, argv, app, options.setting, [&] { measure(options); });
}
