// bench-restart: what it costs to come back. Its first life leaves snapshots in the stores and is then abandoned, as a
// job that is killed leaves them; every later life is timed from Session::open to the return of restore(), after
// MPI_Init, and checks that it has the bytes of the first. In between, the script removes stores. What it is divided by
// is a copy of the same bytes by as many ranks as the application has, all at once. Caches are displaced before both.
//
// The heads' memory is the sum of what each had at most, above what it had before the session.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <cairn/cairn.hpp>

#include "common.hpp"
#include "memory.hpp"

namespace {

constexpr int kSnapshotsLeft = 2;
constexpr int kCopies = 3;

struct Options {
  bench::Setting setting;
  std::string config;
  std::string figure = "restart";
  std::string group = "restart";
  std::uint64_t bytes = 64 * cairn::kMiB;
  std::size_t ranks = 1;  // of the application
  int leave_level = 0;    // 0: come back
  int expect_level = 0;
  std::vector<std::uint32_t> told;
};

void leave(const Options& options) {
  const auto session = cairn::Session::open(MPI_COMM_WORLD, options.config);
  if (!session) return;
  bench::Buffers buffers(options.bytes);
  session->protect("state", buffers.source().data(), buffers.source().size());
  session->restore();
  const auto level = static_cast<cairn::LevelId>(options.leave_level);
  for (int i = 1; i <= kSnapshotsLeft; ++i) {
    buffers.rewrite(session->rank() * 1000 + static_cast<std::uint64_t>(i));
    session->snapshot(level);
    session->wait(level);
  }
}

// The same bytes as those that leave() had last.
void check(const Options& options, const cairn::Session& session, cairn::Bytes restored) {
  bench::Buffers expected(options.bytes);
  expected.rewrite(session.rank() * 1000 + std::uint64_t{kSnapshotsLeft});
  if (!std::ranges::equal(expected.source(), restored))
    throw std::runtime_error("the restored bytes are not those of the first run");
}

// Checks that some rank came from the level that this case measures. If none did, the script removed the wrong stores.
void check_level(const Options& options, const cairn::RestoreReport& report) {
  if (!report.restored) throw std::runtime_error("there was no snapshot to restore");
  if (options.expect_level == 0 || report.ranks_from[options.expect_level - 1] > 0) return;
  throw std::runtime_error("no rank came back from L" + std::to_string(options.expect_level));
}

// As many ranks as the application has, copying their bytes at once. Which ranks of the world will be heads is not
// known yet, and does not matter: the others sleep.
bench::Values time_copies(const bench::Ranks& world, const Options& options, bench::Caches& caches) {
  const bool copies = world.rank() < options.ranks;
  bench::Buffers buffers(copies ? options.bytes : cairn::kKiB);
  std::vector<bench::Span> spans;
  for (int i = 0; i < kCopies; ++i) {
    buffers.rewrite(static_cast<std::uint64_t>(i));
    caches.displace();
    spans.push_back(bench::time_turns(world, copies ? 1 : 0, [&] { buffers.copy(); }));
  }
  return {bench::median(world.slowest(spans))};
}

// Times one life. Returns whether this process is a rank of the application.
// `peak`: of this process since the session began to open.
bool come_back_in(const bench::Ranks& world, const Options& options, std::optional<bench::Peak>& peak) {
  bench::Caches caches;
  const auto copy = time_copies(world, options, caches);
  cairn::Buffer state(options.bytes);
  cairn::FailureTopology failures;
  failures.lost_nodes = options.told;

  caches.displace();
  world.meet();
  peak.emplace();
  const double start = bench::now();
  const auto session = cairn::Session::open(MPI_COMM_WORLD, options.config, failures);
  if (!session) return false;
  const double opened = bench::now();
  session->protect("state", state.data(), state.size());
  const auto& report = session->restore();
  const double done = bench::now();

  const bench::Ranks ranks(session->comm());
  const auto times = ranks.slowest({done - start, opened - start, done - opened});
  check_level(options, report);
  check(options, *session, state);
  const bench::Records records(options.setting, ranks.rank() == 0);
  const auto add = [&](const std::string& part, double value) {
    records.add({.group = options.group,
                 .name = options.figure + part,
                 .values = {value},
                 .limit = "copy, all ranks",
                 .limit_values = copy,
                 .facts = {{"bytes_per_rank", static_cast<double>(options.bytes)},
                           {"ranks", static_cast<double>(ranks.size())}}});
  };
  add("", times[0]);
  add(": open", times[1]);
  add(": restore", times[2]);
  return true;
}

void come_back(const Options& options) {
  const bench::Ranks world(MPI_COMM_WORLD);
  std::optional<bench::Peak> peak;
  const bool computes = come_back_in(world, options, peak);
  const double heads = world.sum(computes ? 0 : peak->mib());
  const bench::Records records(options.setting, world.rank() == 0);
  records.add({.group = options.group,
               .name = "memory of heads, " + options.figure,
               .values = {heads},
               .unit = "MiB",
               .facts = {{"bytes_per_rank", static_cast<double>(options.bytes)}}});
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Leaves snapshots, or times coming back to them.", "bench-restart"};
  bench::add_options(app, options.setting);
  app.add_option("--config", options.config, "Cairn's INI file")->required();
  app.add_option("--group", options.group, "Group of the records");
  app.add_option("--figure", options.figure, "Name of the figure");
  app.add_option("--bytes", options.bytes, "Bytes of each rank")->check(CLI::Range(1024UL, 1UL << 40));
  app.add_option("--ranks", options.ranks, "Application ranks of the job")->required();
  app.add_option("--leave", options.leave_level, "Leave snapshots at this level")->check(CLI::Range(1, 4));
  app.add_option("--expect", options.expect_level, "The level from which some rank must be restored")
      ->check(CLI::Range(1, 4));
  app.add_option("--told", options.told, "Nodes that the job is told are lost")->delimiter(',');
  return bench::run(argc, argv, app, options.setting, [&] {
    if (options.leave_level > 0)
      leave(options);
    else
      come_back(options);
  });
}
