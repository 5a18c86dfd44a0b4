// bench-replay: an application whose ranks are killed at given times, for replay.py. A step is computing (the rank
// sleeps), an exchange with both neighbours on a ring, and, every so many steps, a snapshot.
//
// In the directory are, for all processes of the job:
//   failures  "SECONDS RANK POINT KIND" a line, made before the job; SECONDS since its first step, POINT compute,
//   exchange
//             or save, after which the rank is struck, KIND process or node
//   begin     when the first step began
//   struck.N  when line N of `failures` was carried out
//   events    "SECONDS RANK WHAT STEP VALUE" a line: restored; saved (VALUE: how long that took); ended
// Times are seconds of the steady clock, which all processes of a machine share. A rank that is struck with its node
// waits for replay.py to kill all processes of the node.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
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

std::optional<double> time_in(const std::string& path) {
  std::ifstream file(path);
  double time = 0;
  if (file >> time) return time;
  return std::nullopt;
}

// The failures that this rank is to suffer.
class Strikes {
 public:
  Strikes(const std::string& directory, int rank) : directory_(directory) {
    std::ifstream file(directory + "/failures");
    double at = 0;
    int victim = 0;
    std::string point;
    std::string kind;
    for (std::size_t number = 0; file >> at >> victim >> point >> kind; ++number) {
      const auto where = point == "compute" ? Point::compute : point == "exchange" ? Point::exchange : Point::save;
      if (victim == rank) strikes_.push_back({number, at, where, kind == "node"});
    }
  }

  // Ends this process if a failure is due.
  void meet(Point point) {
    if (!begin_) begin_ = time_in(directory_ + "/begin");
    if (!begin_) return;
    for (const Strike& strike : strikes_) {
      if (strike.point != point || bench::now() < *begin_ + strike.at) continue;
      const std::string mark = fmt::format("{}/struck.{}", directory_, strike.number);
      if (!append(mark, fmt::format("{:.6f}", bench::now()), true)) continue;
      if (!strike.whole_node) std::raise(SIGKILL);
      for (;;) ::pause();
    }
  }

 private:
  std::string directory_;
  std::vector<Strike> strikes_;
  std::optional<double> begin_;
};

class Ring {
 public:
  Ring(MPI_Comm comm, std::size_t bytes) : comm_(comm), sent_(bytes), left_(bytes), right_(bytes) {
    int size = 1;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank_);
    before_ = (rank_ + size - 1) % size;
    after_ = (rank_ + 1) % size;
  }
  void exchange(std::int64_t step) {
    sent_.assign(sent_.size(), static_cast<char>(step + rank_));
    const auto bytes = static_cast<int>(sent_.size());
    std::array<MPI_Request, 4> requests{};
    MPI_Irecv(left_.data(), bytes, MPI_BYTE, before_, 0, comm_, &requests[0]);
    MPI_Irecv(right_.data(), bytes, MPI_BYTE, after_, 1, comm_, &requests[1]);
    MPI_Isend(sent_.data(), bytes, MPI_BYTE, after_, 0, comm_, &requests[2]);
    MPI_Isend(sent_.data(), bytes, MPI_BYTE, before_, 1, comm_, &requests[3]);
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
    if (left_.front() != static_cast<char>(step + before_) || right_.back() != static_cast<char>(step + after_))
      throw std::runtime_error(fmt::format("step {}: a neighbour has sent something else", step));
  }

 private:
  MPI_Comm comm_;
  int rank_ = 0;
  int before_ = 0;
  int after_ = 0;
  std::vector<char> sent_, left_, right_;
};

void compute(cairn::Session& session, const Options& options) {
  const auto rank = static_cast<int>(session.rank());
  std::vector<char> state(options.state_bytes, static_cast<char>(rank));
  std::int64_t step = 0;
  session.protect("state", state.data(), state.size());
  session.protect("step", step);
  session.restore();
  const auto note = [&](const char* what, double value) {
    append(options.directory + "/events",
           fmt::format("{:.6f} {} {} {} {:.6f}\n", bench::now(), rank, what, step, value));
  };
  note("restored", 0);
  if (rank == 0) append(options.directory + "/begin", fmt::format("{:.6f}", bench::now()), true);
  Strikes strikes(options.directory, rank);
  Ring ring(session.comm(), options.message_bytes);
  while (step < options.steps) {
    bench::sleep_for(options.step_seconds);
    state[static_cast<std::size_t>(step) % state.size()] = static_cast<char>(step);
    strikes.meet(Point::compute);
    ring.exchange(step);
    strikes.meet(Point::exchange);
    ++step;
    const bool upper = options.global_every > 0 && step % options.global_every == 0;
    if (upper || (options.local_every > 0 && step % options.local_every == 0)) {
      const double start = bench::now();
      session.snapshot(upper ? cairn::LevelId::global : cairn::LevelId::local);
      note(upper ? "saved_global" : "saved_local", bench::now() - start);
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
  const int code =
      cairn::run(MPI_COMM_WORLD, options.config, [&](cairn::Session& session) { compute(session, options); });
  MPI_Finalize();
  return code;
}
