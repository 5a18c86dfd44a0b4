// bench-elastic: how long restore() takes, on this or another number of ranks. One life leaves a snapshot and is then
// abandoned, as a job that is killed leaves it. Each later life is timed from the call of restore() to its return on
// the last rank, checks every element, and is abandoned, too. Rank 0 prints a line of JSON.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <cairn/cairn.hpp>

#include "common.hpp"
#include "memory.hpp"

namespace {

struct Options {
  std::string config;
  std::uint64_t bytes = 256 * cairn::kMiB;  // of all ranks
  int leave_level = 0;                      // 0: come back
};

struct Part {
  std::uint64_t first = 0;
  std::vector<double> numbers;  // each is its place in the whole array, once filled in
};

Part part_of(const Options& options, const cairn::Session& session) {
  const std::uint64_t all = options.bytes / sizeof(double);
  const std::uint64_t first = all * session.rank() / session.size();
  return {first, std::vector<double>(all * (session.rank() + 1) / session.size() - first)};
}

void protect(const Options& options, cairn::Session& session, Part& part) {
  session.protect("numbers", part.numbers.data(), {part.numbers.size()},
                  cairn::GlobalPlace{{options.bytes / sizeof(double)}, {part.first}});
}

void leave(const Options& options, cairn::Session& session) {
  Part part = part_of(options, session);
  protect(options, session, part);
  session.restore();
  std::iota(part.numbers.begin(), part.numbers.end(), static_cast<double>(part.first));
  const auto level = static_cast<cairn::LevelId>(options.leave_level);
  session.snapshot(level);
  session.wait(level);
}

void come_back(const Options& options, cairn::Session& session) {
  const bench::Ranks ranks(session.comm());
  Part part = part_of(options, session);
  protect(options, session, part);
  bench::Caches().displace();
  ranks.meet();
  const double start = bench::now();
  const auto& report = session.restore();
  const double seconds = ranks.slowest(bench::Values{bench::now() - start})[0];
  if (!report.restored) throw std::runtime_error("there was no snapshot to restore");
  for (std::uint64_t i = 0; i < part.numbers.size(); ++i) {
    if (part.numbers[i] != static_cast<double>(part.first + i))
      throw std::runtime_error("element " + std::to_string(part.first + i) + " came back with another value");
  }
  if (ranks.rank() != 0) return;
  const auto& from = report.ranks_from;
  std::printf(
      "{\"seconds\": %.6f, \"old_ranks\": %u, \"ranks\": %zu, \"bytes_moved\": %llu, \"from\": [%u, %u, %u, %u]}\n",
      seconds, report.old_ranks, ranks.size(), static_cast<unsigned long long>(report.bytes_moved), from[0], from[1],
      from[2], from[3]);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Leaves a snapshot, or times its restore.", "bench-elastic"};
  app.add_option("--config", options.config, "Cairn's INI file")->required();
  app.add_option("--bytes", options.bytes, "Bytes of all ranks")->check(CLI::Range(1024UL, 1UL << 40));
  app.add_option("--leave", options.leave_level, "Leave a snapshot at this level")->check(CLI::Range(1, 4));
  return bench::run(argc, argv, app, bench::Setting{}, [&] {
    const auto session = cairn::Session::open(MPI_COMM_WORLD, options.config);
    if (!session) return;  // a head
    (options.leave_level > 0 ? leave : come_back)(options, *session);
  });
}
