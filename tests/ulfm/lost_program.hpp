// What the programs for lost.py have in common, and others here.
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

#include <cairn/cairn.hpp>

#include "options.hpp"

namespace lost {

inline std::uint64_t mix(std::uint64_t sum, std::uint64_t word) {
  sum = (sum ^ word) * 0x9E3779B97F4A7C15U;
  return sum ^ (sum >> 29);
}

// This process in a communicator.
struct Place {
  explicit Place(MPI_Comm comm) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
  int rank = 0;
  int size = 0;
};

inline void write_sums(const std::string& path, std::uint64_t mine, const cairn::Session& session) {
  if (session.rank() != 0) {
    MPI_Send(&mine, 1, MPI_UINT64_T, 0, 1, session.comm());
    return;
  }
  std::ofstream file(path);
  file << mine << "\n";
  for (int rank = 1; rank < static_cast<int>(session.size()); ++rank) {
    std::uint64_t theirs = 0;
    MPI_Recv(&theirs, 1, MPI_UINT64_T, rank, 1, session.comm(), MPI_STATUS_IGNORE);
    file << theirs << "\n";
  }
}

inline std::string name_of_process() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + "." + std::to_string(getpid());
}

// A file of this process, which gets a line after each step.
class StepLog {
 public:
  explicit StepLog(const cairn::Session& session)
      : session_(session), file_("steps." + std::to_string(session.rank()) + "." + name_of_process(), std::ios::app) {}
  void add(std::int64_t step, std::uint64_t sum) {
    file_ << step << " " << sum << " " << session_.catches_up() << std::endl;
  }

 private:
  const cairn::Session& session_;
  std::ofstream file_;
};

// Until a snapshot is safe, so that no log can be full because a head has had no processor. Not for long: after a
// failure it may never be safe.
inline void wait_until_safe(cairn::Session& session, std::uint32_t version) {
  constexpr int kMostNaps = 5000;
  for (int i = 0; i < kMostNaps && !session.catches_up(); ++i) {
    if (session.safe_version(cairn::LevelId::local) >= version) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Takes the steps that are left. `take` computes one, and returns a sum over all that the rank has received.
template <class Take>
void take_steps(cairn::Session& session, const Options& options, std::int64_t& step, Take take) {
  StepLog steps(session);
  while (step < options.steps) {
    const std::uint64_t sum = take();
    ++step;
    const auto taken = session.snapshot();
    if (options.what == "patient" && taken) wait_until_safe(session, *taken);
    steps.add(step, sum);
    std::this_thread::sleep_for(std::chrono::milliseconds(options.pause_ms));
  }
}

// The main of a program: `compute(session, options)` is the application.
template <class Compute>
int run(int argc, char** argv, Compute compute) {
  const Options options = parse(argc, argv);
  MPI_Init(&argc, &argv);
  const int code =
      cairn::run(MPI_COMM_WORLD, options.config, [&](cairn::Session& session) { compute(session, options); });
  MPI_Finalize();
  return code;
}

}  // namespace lost
