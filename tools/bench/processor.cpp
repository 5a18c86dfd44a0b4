#include "processor.hpp"

#include <time.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace bench {

std::vector<long> processes_of(MPI_Comm comm) {
  const Ranks ranks(comm);
  std::vector<long> all(ranks.size());
  const long mine = getpid();
  MPI_Allgather(&mine, 1, MPI_LONG, all.data(), 1, MPI_LONG, comm);
  return all;
}

double processor_seconds(long process) {
  constexpr double kNanosecond = 1e-9;
  clockid_t clock{};
  timespec taken{};
  if (clock_getcpuclockid(static_cast<pid_t>(process), &clock) != 0 || clock_gettime(clock, &taken) != 0)
    throw std::runtime_error("process " + std::to_string(process) + ": its processor time cannot be read");
  return static_cast<double>(taken.tv_sec) + static_cast<double>(taken.tv_nsec) * kNanosecond;
}

ProcessorMeter::ProcessorMeter(const Ranks& ranks, std::vector<long> processes)
    : ranks_(ranks), processes_(std::move(processes)) {}

void ProcessorMeter::start() {
  ranks_.meet();
  at_start_ = now_taken();
}

void ProcessorMeter::stop() {
  ranks_.meet();
  seconds_.push_back(now_taken() - at_start_);
}

Values ProcessorMeter::seconds() const { return ranks_.slowest(seconds_); }

// Only rank 0 looks: looking takes processor time too. The account of a process that runs elsewhere is as old as the
// last tick of the clock; at a meeting the ranks sleep, and theirs are exact.
double ProcessorMeter::now_taken() const {
  double total = 0;
  if (ranks_.rank() != 0) return total;
  for (const long process : processes_) total += processor_seconds(process);
  return total;
}

}  // namespace bench
