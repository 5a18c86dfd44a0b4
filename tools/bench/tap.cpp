// bench-tap: the cost of intercepting MPI calls. It times calls that do next to nothing, with a session
// open, through the tap and without it, on all ranks at the same time. Under ckpt-run with [job] world = application,
// the calls on MPI_COMM_WORLD are also substituted.
#include <array>
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
double time_of(int calls, const std::function<void()>& all_calls) {
  const double start = bench::now();
  all_calls();
  return (bench::now() - start) / calls;
}

// The calls that are timed, as the application has them or as MPI has them.
struct Calls {
  decltype(&MPI_Wait) wait;
  decltype(&MPI_Barrier) barrier;
  decltype(&MPI_Iprobe) iprobe;
  decltype(&MPI_Comm_rank) comm_rank;
  decltype(&MPI_Isend) isend;
  decltype(&MPI_Irecv) irecv;
  decltype(&MPI_Waitall) waitall;
};

Calls intercepted_calls() {
  return {MPI_Wait, MPI_Barrier, MPI_Iprobe, MPI_Comm_rank, MPI_Isend, MPI_Irecv, MPI_Waitall};
}

Calls calls_of_mpi() {
  return {behind<decltype(&MPI_Wait)>("MPI_Wait"),      behind<decltype(&MPI_Barrier)>("MPI_Barrier"),
          behind<decltype(&MPI_Iprobe)>("MPI_Iprobe"),  behind<decltype(&MPI_Comm_rank)>("MPI_Comm_rank"),
          behind<decltype(&MPI_Isend)>("MPI_Isend"),    behind<decltype(&MPI_Irecv)>("MPI_Irecv"),
          behind<decltype(&MPI_Waitall)>("MPI_Waitall")};
}

// What the application's MPI_COMM_WORLD is to MPI.
MPI_Comm world_behind(MPI_Comm ranks) {
  int how = MPI_UNEQUAL;
  MPI_Comm_compare(ranks, MPI_COMM_WORLD, &how);
  return how == MPI_IDENT ? ranks : MPI_COMM_WORLD;
}

constexpr std::array kNames{"MPI_Wait of nothing, intercepted",
                            "MPI_Barrier of one rank, intercepted",
                            "MPI_Iprobe, intercepted",
                            "MPI_Irecv, Isend and Waitall of a rank with itself, a call, intercepted",
                            "MPI_Iprobe on MPI_COMM_WORLD, intercepted",
                            "MPI_Comm_rank of MPI_COMM_WORLD, intercepted"};

// `self`: of this rank alone, made from the session's, so that what is timed waits for nobody.
std::array<double, kNames.size()> time_calls(const Calls& call, MPI_Comm self, MPI_Comm world) {
  const double waiting = time_of(kCalls, [&] {
    for (int i = 0; i < kCalls; ++i) {
      MPI_Request none = MPI_REQUEST_NULL;
      call.wait(&none, MPI_STATUS_IGNORE);
    }
  });
  const double meeting = time_of(kCalls, [&] {
    for (int i = 0; i < kCalls; ++i) call.barrier(self);
  });
  const double asking = time_of(kCalls, [&] {
    int flag = 0;
    for (int i = 0; i < kCalls; ++i) call.iprobe(MPI_ANY_SOURCE, 1, self, &flag, MPI_STATUS_IGNORE);
  });
  const double exchanging = time_of(kCalls, [&] {
    double out = 1;
    double in = 0;
    std::array<MPI_Request, 2> requests{};
    for (int i = 0; i < kCalls / 3; ++i) {
      call.irecv(&in, 1, MPI_DOUBLE, 0, 7, self, &requests[0]);
      call.isend(&out, 1, MPI_DOUBLE, 0, 7, self, &requests[1]);
      call.waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    }
  });
  const double asking_world = time_of(kCalls, [&] {
    int flag = 0;
    for (int i = 0; i < kCalls; ++i) call.iprobe(MPI_ANY_SOURCE, 1, world, &flag, MPI_STATUS_IGNORE);
  });
  const double counting = time_of(kCalls, [&] {
    int rank = 0;
    for (int i = 0; i < kCalls; ++i) call.comm_rank(world, &rank);
  });
  return {waiting, meeting, asking, exchanging, asking_world, counting};
}

void measure(const Options& options) {
  const auto session = cairn::Session::open(MPI_COMM_WORLD, options.config);
  if (!session) return;
  MPI_Comm self = MPI_COMM_NULL;
  MPI_Comm_split(session->comm(), static_cast<int>(session->rank()), 0, &self);
  std::array<bench::Values, kNames.size()> intercepted;
  std::array<bench::Values, kNames.size()> alone;
  for (std::size_t i = 0; i < options.repetitions; ++i) {
    const auto with = time_calls(intercepted_calls(), self, MPI_COMM_WORLD);
    const auto without = time_calls(calls_of_mpi(), self, world_behind(session->comm()));
    for (std::size_t call = 0; call < kNames.size(); ++call) {
      intercepted[call].push_back(with[call]);
      alone[call].push_back(without[call]);
    }
  }
  MPI_Comm_free(&self);
  const bench::Records records(options.setting, session->rank() == 0);
  for (std::size_t call = 0; call < kNames.size(); ++call) {
    records.add({.group = "tap",
                 .name = kNames[call],
                 .values = intercepted[call],
                 .limit = "the same call, not intercepted",
                 .limit_values = alone[call]});
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Times MPI calls that Cairn intercepts.", "bench-tap"};
  bench::add_options(app, options.setting);
  app.add_option("--config", options.config, "Cairn's INI file")->required();
  app.add_option("--repetitions", options.repetitions, "Repetitions")->check(CLI::Range(1, 1000));
  return bench::run(argc, argv, app, options.setting, [&] { measure(options); });
}
