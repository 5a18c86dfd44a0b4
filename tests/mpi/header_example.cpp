// The example of cairn.hpp, word for word, and what it leaves open: how large a plate is, and what a step is.
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

#include <cairn/cairn.hpp>

namespace {

constexpr std::size_t n = 256;
constexpr int steps = 200;

void take_time() {
  const char* const milliseconds = std::getenv("EXAMPLE_PAUSE_MS");
  if (milliseconds != nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(milliseconds)));
}

void write_result(const std::vector<double>& plate, int rank) {
  std::ofstream out("result." + std::to_string(rank), std::ios::binary);
  out.write(reinterpret_cast<const char*>(plate.data()), static_cast<std::streamsize>(plate.size() * sizeof(double)));
}

// No step may be left out or done twice. The last cell counts steps, so that the last step is known here.
void relax(std::vector<double>& plate, MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  double from_left = 0;
  MPI_Sendrecv(plate.data(), 1, MPI_DOUBLE, (rank + 1) % size, 0, &from_left, 1, MPI_DOUBLE, (rank + size - 1) % size,
               0, comm, MPI_STATUS_IGNORE);
  for (std::size_t i = 0; i + 1 < plate.size(); ++i) plate[i] = 0.5 * (plate[i] + from_left) + rank + 1;
  plate.back() += 1;
  if (rank == 0 && static_cast<int>(plate.back()) % 10 == 0) std::cout << "relaxed " << plate.back() << std::endl;
  if (plate.back() >= steps) write_result(plate, rank);
  take_time();
}

}  // namespace

#include "header_example.inc"
