// The processor time that the processes of a job take: application ranks and heads, with all their threads. All of them
// are on this machine.
#pragma once

#include <vector>

#include <mpi.h>

#include "common.hpp"

namespace bench {

// Collective. The processes of a communicator, in rank order. For those of heads call it before Session::open, which
// does not return on a head.
[[nodiscard]] std::vector<long> processes_of(MPI_Comm comm);

// Processor seconds of all threads of a process so far, also of threads that have ended.
[[nodiscard]] double processor_seconds(long process);

// The processor seconds that some processes take between start() and stop(), which are collective. What the ranks do
// there to wait for each other is in it: they sleep and look, a small part of a millisecond.
class ProcessorMeter {
 public:
  ProcessorMeter(const Ranks& ranks, std::vector<long> processes);
  void start();
  void stop();
  // Of each start and stop so far, on all ranks.
  [[nodiscard]] Values seconds() const;

 private:
  [[nodiscard]] double now_taken() const;
  const Ranks& ranks_;
  std::vector<long> processes_;
  double at_start_ = 0;
  Values seconds_;
};

}  // namespace bench
