// bench-replay: an application whose ranks are killed at given times, for replay.py. A step is computing (the rank
// sleeps), an exchange with both neighbours on a ring, and, every so many steps, a snapshot.
//
// In the directory are, for all processes of the job:
//   failures  "SECONDS RANK POINT KIND" a line, made before the job; SECONDS since its first step, POINT compute,
//             exchange or save, after which the rank is struck, KIND process or node
//   begin     when the first step began
//   struck.N  when line N of `failures` was carried out
//   striking  the rank that was struck, and its step, until its replacement has taken a snapshot; no other strike is
//             carried out meanwhile, since Open MPI 5.0 crashes if processes die while new ones are started
//   events    "SECONDS RANK WHAT STEP VALUE" a line: restored; helped (helpers have recomputed steps; VALUE: what that
//   took
//             beyond the sleep of their steps); saved (VALUE: how long that took); ended
// Times are seconds of the steady clock, which all processes of a machine share. A rank that is struck with its node
// waits for replay.py to kill all processes of the node.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>
#include <CLI/CLI.hpp>

#include <cairn/cairn.hpp>

#include "common.hpp"

namespace {

struct Options {
  std::string config;
  std::string directory;
  std::int64_t steps = 0;
  double step_seconds = 0;
  std::size_t message_bytes = 65536;
  std::size_t state_bytes = std::size_t{8} << 20U;
  std::int64_t local_every = 0;  // steps; 0: never
  std::int64_t global_every = 0;
};

enum class Point { compute, exchange, save };

struct Strike {
  std::size_t number = 0;  // its line
  double at = 0;
  Point point = Point::compute;
  bool whole_node = false;
};

// One write, so that lines of several processes stay whole. False if the file must be new and is not.
bool append(const std::string& path, const std::string& text, bool must_be_new = false) {
  const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | (must_be_new ? O_EXCL : 0);
  const int file = ::open(path.c_str(), flags, 0644);
  if (file < 0) return false;
  const auto written = ::write(file, text.data(), text.size());
  ::close(file);
  return written == static_cast<ssize_t>(text.size());
}

std::optional<double> number_in(const std::string& path) {
  std::ifstream file(path);
  double number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// The failures that this rank is to suffer.
class Strikes {
 public:
  // The rank has restored at this step.
  Strikes(const Options& options, int rank, std::int64_t step, bool catches_up)
      : directory_(options.directory), rank_(rank), first_loss_of_node_(2 * options.global_every) {
    const std::int64_t every = options.local_every;
    std::ifstream recovery(striking());
    int struck = -1;
    std::int64_t struck_step = 0;
    if (recovery >> struck >> struck_step && struck == rank && every > 0) {
      // Survivors may be a step or two ahead, and take no snapshot again.
      const std::int64_t before = catches_up ? struck_step + 2 : step;
      progress_ = (before / every + 1) * every + kStepsOfSnapshot;
    }
    std::ifstream file(directory_ + "/failures");
    double at = 0;
    int victim = 0;
    std::string point;
    std::string kind;
    for (std::size_t number = 0; file >> at >> victim >> point >> kind; ++number) {
      const auto where = point == "compute" ? Point::compute : point == "exchange" ? Point::exchange : Point::save;
      if (victim == rank) strikes_.push_back({number, at, where, kind == "node"});
    }
  }

  // So many steps are taken. A snapshot may now be complete that the rank has taken since it was struck.
  void reach(std::int64_t step) {
    step_ = step;
    if (!progress_ || step < *progress_) return;
    progress_.reset();
    std::filesystem::remove(striking());
  }

  // Ends this process if a failure is due.
  void meet(Point point) {
    if (!begin_) begin_ = number_in(directory_ + "/begin");
    if (!begin_) return;
    for (const Strike& strike : strikes_) {
      if (strike.point != point || bench::now() < *begin_ + strike.at) continue;
      if (strike.whole_node && step_ < first_loss_of_node_) continue;
      const std::string mark = fmt::format("{}/struck.{}", directory_, strike.number);
      if (std::filesystem::exists(mark)) continue;
      if (!append(striking(), fmt::format("{} {}", rank_, step_), true)) return;
      if (!append(mark, fmt::format("{:.6f}", bench::now()), true)) continue;
      if (!strike.whole_node) std::raise(SIGKILL);
      for (;;) ::pause();
    }
  }

 private:
  static constexpr std::int64_t kStepsOfSnapshot = 3;  // until it is complete

  [[nodiscard]] std::string striking() const { return directory_ + "/striking"; }

  std::string directory_;
  int rank_;
  std::int64_t first_loss_of_node_;  // the step at which a snapshot at L4 is complete
  std::int64_t step_ = 0;
  std::optional<std::int64_t> progress_;  // the step that ends the recovery of this rank
  std::vector<Strike> strikes_;
  std::optional<double> begin_;
};

// Tags of messages around the ring, and back.
constexpr int kOnward = 0;
constexpr int kBack = 1;

// A rank, or a part of it, and its neighbours on the ring.
class Ring {
 public:
  Ring(std::uint32_t rank, std::uint32_t ranks, std::size_t bytes)
      : rank_(rank),
        before_((rank + ranks - 1) % ranks),
        after_((rank + 1) % ranks),
        sent_(bytes),
        left_(bytes),
        right_(bytes) {}

  void exchange(std::int64_t step, MPI_Comm comm) {
    sent_.assign(sent_.size(), value(step, rank_));
    const auto bytes = static_cast<int>(sent_.size());
    const auto before = static_cast<int>(before_);
    const auto after = static_cast<int>(after_);
    std::array<MPI_Request, 4> requests{};
    MPI_Irecv(left_.data(), bytes, MPI_BYTE, before, kOnward, comm, &requests[0]);
    MPI_Irecv(right_.data(), bytes, MPI_BYTE, after, kBack, comm, &requests[1]);
    MPI_Isend(sent_.data(), bytes, MPI_BYTE, after, kOnward, comm, &requests[2]);
    MPI_Isend(sent_.data(), bytes, MPI_BYTE, before, kBack, comm, &requests[3]);
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
    check(step, true, true);
  }

  // The first part has the neighbour before, the last one that after; parts beside each other exchange as much.
  void exchange(std::int64_t step, cairn::LostPart& part) {
    const bool first = part.part() == 0;
    const bool last = part.part() + 1 == part.parts();
    sent_.assign(sent_.size(), value(step, rank_));
    if (first) part.send(before_, kBack, sent_);
    if (last) part.send(after_, kOnward, sent_);
    if (!first) part.send_to_part(part.part() - 1, kBack, sent_);
    if (!last) part.send_to_part(part.part() + 1, kOnward, sent_);
    if (first) part.receive(before_, kOnward, left_);
    if (last) part.receive(after_, kBack, right_);
    if (!first) part.receive_from_part(part.part() - 1, kOnward, left_);
    if (!last) part.receive_from_part(part.part() + 1, kBack, right_);
    check(step, first, last);
  }

 private:
  static char value(std::int64_t step, std::uint32_t rank) { return static_cast<char>(step + rank); }
  void check(std::int64_t step, bool left, bool right) const {
    if ((left && left_.front() != value(step, before_)) || (right && right_.back() != value(step, after_)))
      throw std::runtime_error(fmt::format("step {}: a neighbour has sent something else", step));
  }

  std::uint32_t rank_, before_, after_;
  std::vector<char> sent_, left_, right_;
};

// The state of a rank, of which each step changes a byte, or a part of it.
struct State {
  std::int64_t step = 0;
  std::size_t first = 0;  // of the rank's
  std::size_t whole = 0;
  std::vector<char> bytes;

  void take_step() {
    const std::size_t place = static_cast<std::size_t>(step) % whole;
    if (place >= first && place < first + bytes.size()) bytes[place - first] = static_cast<char>(step);
    ++step;
  }
};

// Inverse pair.
std::vector<std::byte> encode(const State& state) {
  std::vector<std::byte> out(3 * sizeof(std::int64_t) + state.bytes.size());
  const std::array<std::int64_t, 3> numbers{state.step, static_cast<std::int64_t>(state.first),
                                            static_cast<std::int64_t>(state.whole)};
  std::memcpy(out.data(), numbers.data(), sizeof(numbers));
  if (!state.bytes.empty()) std::memcpy(out.data() + sizeof(numbers), state.bytes.data(), state.bytes.size());
  return out;
}
State decode(std::span<const std::byte> in) {
  std::array<std::int64_t, 3> numbers{};
  std::memcpy(numbers.data(), in.data(), sizeof(numbers));
  const auto bytes = in.subspan(sizeof(numbers));
  const auto* const begin = reinterpret_cast<const char*>(bytes.data());
  return {numbers[0],
          static_cast<std::size_t>(numbers[1]),
          static_cast<std::size_t>(numbers[2]),
          {begin, begin + bytes.size()}};
}

std::vector<std::vector<std::byte>> split(const State& state, std::uint32_t parts) {
  std::vector<std::vector<std::byte>> all;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const std::size_t first = state.whole * part / parts;
    const std::size_t end = state.whole * (part + 1) / parts;
    all.push_back(encode({state.step,
                          first,
                          state.whole,
                          {state.bytes.begin() + static_cast<std::ptrdiff_t>(first),
                           state.bytes.begin() + static_cast<std::ptrdiff_t>(end)}}));
  }
  return all;
}
void merge(std::span<const std::vector<std::byte>> parts, State& state) {
  for (const auto& bytes : parts) {
    const State part = decode(bytes);
    std::ranges::copy(part.bytes, state.bytes.begin() + static_cast<std::ptrdiff_t>(part.first));
    state.step = part.step;
  }
}

std::vector<std::byte> compute_part(cairn::LostPart& part, const Options& options) {
  State state = decode(part.state());
  Ring ring(part.rank(), part.ranks(), options.message_bytes);
  while (part.next_step()) {
    bench::sleep_for(options.step_seconds / part.parts());
    ring.exchange(state.step, part);
    state.take_step();
  }
  return encode(state);
}

void compute(cairn::Session& session, const Options& options) {
  const auto rank = static_cast<int>(session.rank());
  State state{0, 0, options.state_bytes, std::vector<char>(options.state_bytes, static_cast<char>(rank))};
  session.protect("state", state.bytes.data(), state.bytes.size());
  session.protect("step", state.step);
  const auto note = [&](const char* what, double value) {
    append(options.directory + "/events",
           fmt::format("{:.6f} {} {} {} {:.6f}\n", bench::now(), rank, what, state.step, value));
  };
  std::optional<double> restored_at;  // before helpers compute
  const auto note_restored = [&] {
    if (!restored_at) note("restored", 0);
    restored_at = restored_at.value_or(bench::now());
  };
  session.on_loss(
      [&](std::uint32_t parts) {
        note_restored();
        return split(state, parts);
      },
      [&](std::span<const std::vector<std::byte>> parts, std::uint64_t steps) {
        merge(parts, state);
        const double slept = static_cast<double>(steps) * options.step_seconds / static_cast<double>(parts.size());
        note("helped", bench::now() - *restored_at - slept);
      });
  session.restore();
  note_restored();
  if (rank == 0) append(options.directory + "/begin", fmt::format("{:.6f}", bench::now()), true);
  Strikes strikes(options, rank, state.step, session.catches_up());
  Ring ring(session.rank(), session.size(), options.message_bytes);
  const auto is_due = [&](std::int64_t every) { return every > 0 && state.step % every == 0; };
  while (state.step < options.steps) {
    bench::sleep_for(options.step_seconds);
    strikes.reach(state.step);
    strikes.meet(Point::compute);
    ring.exchange(state.step, session.comm());
    strikes.meet(Point::exchange);
    state.take_step();
    const double start = bench::now();
    if (is_due(options.global_every)) {
      session.snapshot(cairn::LevelId::global);
      note("saved_global", bench::now() - start);
    } else if (is_due(options.local_every)) {
      session.snapshot(cairn::LevelId::local);
      note("saved_local", bench::now() - start);
    } else {
      session.snapshot();  // not due: the end of a step, for helpers
    }
    strikes.meet(Point::save);
  }
  note("ended", 0);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"An application whose ranks are killed at given times.", "bench-replay"};
  app.add_option("--config", options.config, "Cairn's INI file")->required();
  app.add_option("--directory", options.directory, "Where the files of the job are")->required();
  app.add_option("--steps", options.steps, "How many")->required()->check(CLI::PositiveNumber);
  app.add_option("--step-seconds", options.step_seconds, "Of one step")->required()->check(CLI::PositiveNumber);
  app.add_option("--message", options.message_bytes, "Bytes to each neighbour in a step")->check(CLI::PositiveNumber);
  app.add_option("--state", options.state_bytes, "Bytes of a rank")->check(CLI::PositiveNumber);
  app.add_option("--local-every", options.local_every, "Steps between two snapshots at L1; 0: none");
  app.add_option("--global-every", options.global_every, "Steps between two snapshots at L4; 0: none");
  CLI11_PARSE(app, argc, argv);
  MPI_Init(&argc, &argv);
  const int code = cairn::run(
      MPI_COMM_WORLD, options.config, [&](cairn::Session& session) { compute(session, options); },
      [&](cairn::LostPart& part) { return compute_part(part, options); });
  MPI_Finalize();
  return code;
}
