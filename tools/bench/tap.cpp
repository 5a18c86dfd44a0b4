// bench-tap: what it costs an application that Cairn hears its calls: calls that do next to nothing, with a session
// open, through the tap and without it. Ranks do so at the same time.
#include <functional>
#include <string>

#include <dlfcn.h>
#include <CLI/CLI.hpp>
#include <cairn/cairn.hpp>

#include "common.hpp"

namespace {

constexpr int kCalls = 1'000'000;

struct Options {
  bench::Setting setting;
  std::string config;
  std::size_t repetitions = 7;
};

// MPI's own, behind the tap's.
template <class Function>
Function behind(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

// Seconds of one call.
double time_of(const std::function<void()>& million_calls) {
  const double start = bench::now();
  million_calls();
  return (bench::now() - start) / kCalls;
}

template <class Wait, class Barrier>
bench::Values time_calls(Wait wait, Barrier barrier) {
  const double waiting = time_of([&] {
    for (int i = 0; i < kCalls; ++i) {
      MPI_Request none = MPI_REQUEST_NULL;
      wait(&none, MPI_STATUS_IGNORE);
    }
  });
  const double meeting = time_of([&] {
    for (int i = 0; i < kCalls; ++i) barrier(MPI_COMM_SELF);
  });
  return {waiting, meeting};
}

void measure(const Options& options) {
  const auto session = cairn::Session::open(MPI_COMM_WORLD, options.config);
  if (!session) return;
  bench::Values heard[2];
  bench::Values unheard[2];
  for (std::size_t i = 0; i < options.repetitions; ++i) {
    const auto with = time_calls(&MPI_Wait, &MPI_Barrier);
    const auto without =
        time_calls(behind<decltype(&MPI_Wait)>("MPI_Wait"), behind<decltype(&MPI_Barrier)>("MPI_Barrier"));
    for (std::size_t call = 0; call < 2; ++call) {
      heard[call].push_back(with[call]);
      unheard[call].push_back(without[call]);
    }
  }
  const bench::Records records(options.setting, session->rank() == 0);
  const char* const names[] = {"MPI_Wait of nothing, heard", "MPI_Barrier of one rank, heard"};
  for (std::size_t call = 0; call < 2; ++call) {
    records.add({.group = "tap",
                 .name = names[call],
                 .values = heard[call],
                 .limit = "the same call, unheard",
                 .limit_values = unheard[call]});
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times calls of MPI that Cairn hears.", "bench-tap"};
  bench::add_options(app, options.setting);
  app.add_option("--config", options.config, "Cairn's INI file")->required();
  app.add_option("--repetitions", options.repetitions, "Repetitions")->check(CLI::Range(1, 1000));
  return bench::run(argc, argv, app, options.setting, [&] { measure(options); });
}
