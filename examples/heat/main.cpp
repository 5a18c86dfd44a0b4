// heat: an application that survives failures. simulate() has all that Cairn needs: two calls of protect() name the
// state, restore() continues from the newest snapshot, and snapshot() marks where a copy is safe.
#include <chrono>
#include <cstddef>
#include <exception>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include <cairn/cairn.hpp>

#include "exchange.hpp"
#include "halo.hpp"
#include "lost_rows.hpp"
#include "options.hpp"
#include "plate.hpp"

namespace {

void say(const std::string& text) { std::cout << "heat: " << text << std::endl; }

// What restore() found: each rank says where its part of the plate came from, rank 0 the rest.
void tell_start(const cairn::Session& session, std::int64_t step) {
  const cairn::RestoreReport& report = session.last_restore();
  const bool replaces = session.state() == cairn::State::replacement;
  if (report.restored)
    say(fmt::format("rank {} from {}{}", session.rank(), report.my_source, replaces ? ", in a new process" : ""));
  if (session.rank() != 0) return;
  if (const auto& dead = session.failures().dead_ranks; !dead.empty())
    say(fmt::format("ranks {} died", fmt::join(dead, " ")));
  if (!report.restored) return say("starts at step 0");

  const auto& from = report.ranks_from;
  say(fmt::format("continues at step {}: version {} of incarnation {}, {:.3f} s", step, report.version,
                  report.incarnation, report.seconds));
  say(fmt::format("lost nodes: {}",
                  report.lost_nodes.empty() ? "none" : fmt::format("{}", fmt::join(report.lost_nodes, " "))));
  say(fmt::format("ranks from L1: {}, L2: {}, L3: {}, L4: {}", from[0], from[1], from[2], from[3]));
}

// True in the step that completes another tenth.
bool ends_a_tenth(std::int64_t done, std::int64_t steps) { return done * 10 / steps != (done - 1) * 10 / steps; }

// For demonstrations: time to watch, and no step beyond the one that a file names.
void wait_after(std::int64_t step, const heat::Options& options) {
  constexpr std::chrono::milliseconds kNap{10};
  std::this_thread::sleep_for(options.pause);
  for (std::int64_t last = 0; std::ifstream(options.hold) >> last && step >= last;) std::this_thread::sleep_for(kNap);
}

void simulate(cairn::Session& session, const heat::Options& options) {
  const MPI_Comm comm = session.comm();
  const bool speaks = examples::rank_of(comm) == 0;
  const auto& extent = options.extent;
  const auto block = heat::block_of(examples::rank_of(comm), examples::size_of(comm), extent.rows);
  heat::Plate plate(extent, block);
  std::int64_t step = 0;

  session.protect("plate", plate.cells(), cairn::GlobalPlace{{extent.rows, extent.cols}, {block.first, 0}});
  session.protect("step", step, cairn::same);
  session.on_loss([&](std::uint32_t parts) { return heat::split_rows(plate, parts); },
                  [&](std::span<const std::vector<std::byte>> parts, std::uint64_t steps) {
                    heat::merge_rows(parts, plate);
                    step += static_cast<std::int64_t>(steps);
                  });
  session.restore();
  tell_start(session, step);

  while (step < options.steps) {
    heat::exchange_halos(plate, comm);
    plate.relax();
    ++step;
    session.snapshot();
    if (speaks && ends_a_tenth(step, options.steps)) say(fmt::format("{} of {} steps", step, options.steps));
    if (session.should_stop()) {
      if (speaks) say(fmt::format("asked to stop after step {}; the next run continues from here", step));
      return;
    }
    wait_after(step, options);
  }
  heat::write_plate(plate, options.output, comm);
  if (speaks) say(fmt::format("{} holds the plate after {} steps", options.output, step));
}

// Every rank reads the same command line, so one may speak for all.
int run(int argc, char** argv) {
  const bool speaks = examples::rank_of(MPI_COMM_WORLD) == 0;
  const auto command_line = heat::parse_command_line(argc, argv);
  if (!command_line.options) {
    if (speaks) (command_line.exit_code == 0 ? std::cout : std::cerr) << command_line.text << std::flush;
    return command_line.exit_code;
  }
  const heat::Options& options = *command_line.options;
  return cairn::run(
      MPI_COMM_WORLD, options.config, [&](cairn::Session& session) { simulate(session, options); },
      [&](cairn::LostPart& part) { return heat::compute_rows(part, options); });
}

}  // namespace

int main(int argc, char** argv) {
  // MPI_Init will do, but for [head] mode = thread, where a thread of the first rank of each node communicates too.
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  const int exit_code = run(argc, argv);
  MPI_Finalize();
  return exit_code;
}
