// A small application for the tests beside this file, whose lost ranks spares help to replace: a chain of cells, of
// which each rank has some, and each part fewer.
//
//   lost_helpers WHAT --steps N --config FILE --output FILE --pause-ms N
//
// WHAT: `right`, or what is wrong: the part of a helper sends another message (`sends`), leaves one out (`leaves-out`),
// receives one too many (`receives`), throws (`throws`), ends early (`early`); `cuts`: the state is cut in too few
// parts; `none`: on_loss() is not called. With `sums` ranks make collective calls, too; with `leaves-sums` parts leave
// these out. A step takes the pause, which parts share.
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <cairn/cairn.hpp>

#include "lost_program.hpp"
#include "options.hpp"

namespace {

using Cells = std::vector<std::uint64_t>;

constexpr std::size_t kCells = 12;  // of a rank
constexpr int kUp = 1;
constexpr int kDown = 2;

void advance(Cells& cells, std::uint64_t above, std::uint64_t below) {
  Cells next(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i)
    next[i] =
        lost::mix(lost::mix(cells[i], i == 0 ? above : cells[i - 1]), i + 1 == cells.size() ? below : cells[i + 1]);
  cells = next;
}

void pause(const Options& options, std::size_t cells) {
  std::this_thread::sleep_for(std::chrono::microseconds(options.pause_ms * 1000) * cells / kCells);
}

void exchange(const cairn::Session& session, const Cells& cells, std::uint64_t& above, std::uint64_t& below) {
  const auto rank = static_cast<int>(session.rank());
  const int up = rank == 0 ? MPI_PROC_NULL : rank - 1;
  const int down = rank + 1 == static_cast<int>(session.size()) ? MPI_PROC_NULL : rank + 1;
  std::array<MPI_Request, 4> requests{};
  MPI_Irecv(&above, 1, MPI_UINT64_T, up, kDown, session.comm(), requests.data());
  MPI_Irecv(&below, 1, MPI_UINT64_T, down, kUp, session.comm(), &requests[1]);
  MPI_Isend(&cells.front(), 1, MPI_UINT64_T, up, kUp, session.comm(), &requests[2]);
  MPI_Isend(&cells.back(), 1, MPI_UINT64_T, down, kDown, session.comm(), &requests[3]);
  MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
}

void exchange(cairn::LostPart& part, const Cells& cells, std::uint64_t& above, std::uint64_t& below) {
  const auto one = [](auto& cell) { return std::span(&cell, 1); };
  const bool is_first = part.part() == 0;
  const bool is_last = part.part() + 1 == part.parts();
  if (!is_first) part.send_to_part(part.part() - 1, kUp, one(cells.front()));
  if (!is_last) part.send_to_part(part.part() + 1, kDown, one(cells.back()));
  if (is_first && part.rank() > 0) part.send(part.rank() - 1, kUp, one(cells.front()));
  if (is_last && part.rank() + 1 < part.ranks()) part.send(part.rank() + 1, kDown, one(cells.back()));
  if (is_first && part.rank() > 0) part.receive(part.rank() - 1, kDown, one(above));
  if (is_last && part.rank() + 1 < part.ranks()) part.receive(part.rank() + 1, kUp, one(below));
  if (!is_first) part.receive_from_part(part.part() - 1, kDown, one(above));
  if (!is_last) part.receive_from_part(part.part() + 1, kUp, one(below));
}

bool sums(const Options& options) { return options.what.ends_with("sums"); }

// In the first and the last cell: sums over ranks, and a number of rank 0.
void sum_up(const cairn::Session& session, Cells& cells) {
  const MPI_Comm comm = session.comm();
  MPI_Allreduce(MPI_IN_PLACE, &cells.front(), 1, MPI_UINT64_T, MPI_SUM, comm);
  MPI_Scan(MPI_IN_PLACE, &cells.back(), 1, MPI_UINT64_T, MPI_SUM, comm);
  std::uint64_t common = cells.front() + session.rank();
  MPI_Bcast(&common, 1, MPI_UINT64_T, 0, comm);
  cells.back() ^= common;
  MPI_Barrier(comm);
}

// The last part makes the calls.
void sum_up(cairn::LostPart& part, Cells& cells) {
  constexpr int kFirst = 3;
  const std::uint32_t last = part.parts() - 1;
  if (part.part() == 0) {
    part.send_to_part(last, kFirst, std::span(&cells.front(), 1));
    part.receive_from_part(last, kFirst, std::span(&cells.front(), 1));
  }
  if (part.part() != last) return;
  std::uint64_t first = 0;
  part.receive_from_part(0, kFirst, std::span(&first, 1));
  cairn::LostCollectives collectives(part);
  collectives.allreduce(MPI_IN_PLACE, &first, 1, MPI_UINT64_T, MPI_SUM);
  collectives.scan(MPI_IN_PLACE, &cells.back(), 1, MPI_UINT64_T, MPI_SUM);
  std::uint64_t common = first + part.rank();
  collectives.bcast(&common, 1, MPI_UINT64_T, 0);
  cells.back() ^= common;
  collectives.barrier();
  part.send_to_part(0, kFirst, std::span(&first, 1));
}

std::vector<std::byte> bytes_of(std::span<const std::uint64_t> cells) {
  const auto bytes = std::as_bytes(cells);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::vector<std::byte>> split(const Cells& cells, std::size_t parts) {
  std::vector<std::vector<std::byte>> states;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = cells.size() * part / parts;
    states.push_back(bytes_of(std::span(cells).subspan(begin, cells.size() * (part + 1) / parts - begin)));
  }
  return states;
}

std::vector<std::byte> compute_part(cairn::LostPart& part, const Options& options) {
  Cells cells(part.state().size() / sizeof(std::uint64_t));
  std::memcpy(cells.data(), part.state().data(), part.state().size());
  std::uint64_t above = 0;
  std::uint64_t below = 0;
  const bool is_wrong = part.part() + 1 == part.parts();
  for (int step = 0; part.next_step(); ++step) {
    const bool now = is_wrong && step == 2;
    const auto is = [&](const char* what) { return now && options.what == what; };
    if (is("early")) break;
    if (is("throws")) throw std::runtime_error("this part cannot be computed");
    if (is("receives")) part.receive(part.rank() + 1, kUp, std::span(&below, 1));
    if (is("sends")) part.send(part.rank() + 1, kUp, cells);
    if (is("leaves-out")) continue;
    exchange(part, cells, above, below);
    advance(cells, above, below);
    if (options.what == "sums") sum_up(part, cells);
    pause(options, cells.size());
  }
  return bytes_of(cells);
}

void compute(cairn::Session& session, const Options& options) {
  std::int64_t step = 0;
  Cells cells(kCells, session.rank());
  session.protect("step", step);
  session.protect("cells", cells);
  if (options.what != "none")
    session.on_loss([&](std::uint32_t parts) { return split(cells, parts - (options.what == "cuts" ? 1 : 0)); },
                    [&](std::span<const std::vector<std::byte>> parts, std::uint64_t steps) {
                      std::size_t at = 0;
                      for (const auto& part : parts) {
                        std::memcpy(&cells[at], part.data(), part.size());
                        at += part.size() / sizeof(std::uint64_t);
                      }
                      step += static_cast<std::int64_t>(steps);
                    });
  session.restore();
  MPI_Comm kept = MPI_COMM_NULL;  // until the end, and not used in the steps
  if (sums(options)) MPI_Comm_dup(session.comm(), &kept);
  std::uint64_t above = 0;
  std::uint64_t below = 0;
  while (step < options.steps) {
    exchange(session, cells, above, below);
    advance(cells, above, below);
    if (sums(options)) sum_up(session, cells);
    pause(options, cells.size());
    ++step;
    session.snapshot();
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t cell : cells) sum = lost::mix(sum, cell);
  if (kept != MPI_COMM_NULL) {
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, kept);
    MPI_Comm_free(&kept);
  }
  lost::write_sums(options.output, sum, session);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  MPI_Init(&argc, &argv);
  const int code = cairn::run(
      MPI_COMM_WORLD, options.config, [&](cairn::Session& session) { compute(session, options); },
      [&](cairn::LostPart& part) { return compute_part(part, options); });
  MPI_Finalize();
  return code;
}
