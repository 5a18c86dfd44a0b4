#include "exchange.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <stdexcept>

#include "halo.hpp"
#include "plate_file.hpp"

namespace heat {

using examples::rank_of;
using examples::size_of;

namespace {

constexpr int kCells = 3;
constexpr std::size_t kPieceCells = 8 << 20;  // at most 64 MiB a message, far below what an int can count

std::size_t piece(std::size_t done, std::size_t all) { return std::min(kPieceCells, all - done); }

void send_block(std::span<const double> cells, MPI_Comm comm) {
  for (std::size_t done = 0; done < cells.size(); done += kPieceCells) {
    MPI_Send(cells.data() + done, static_cast<int>(piece(done, cells.size())), MPI_DOUBLE, 0, kCells, comm);
  }
}

// Of rank 0: takes its own block, then those of the others. After an error it receives the rest, so that no rank
// blocks.
class Collector {
 public:
  explicit Collector(const std::string& path, Extent extent) {
    attempt([&] { writer_.emplace(path, extent); });
  }
  void take(std::span<const double> cells) {
    attempt([&] { writer_->append(cells); });
  }
  std::string close() {
    attempt([&] { writer_->close(); });
    return error_;
  }

 private:
  template <class Action>
  void attempt(Action action) {
    if (!error_.empty()) return;
    try {
      action();
    } catch (const std::exception& error) {
      error_ = error.what();
    }
  }
  std::optional<PlateWriter> writer_;
  std::string error_;
};

std::string collect(Plate& plate, const std::string& path, MPI_Comm comm) {
  Collector collector(path, plate.extent());
  collector.take(plate.cells());
  std::vector<double> buffer;
  for (std::size_t rank = 1; rank < size_of(comm); ++rank) {
    const auto cells = block_of(rank, size_of(comm), plate.extent().rows).rows * plate.extent().cols;
    for (std::size_t done = 0; done < cells; done += kPieceCells) {
      buffer.resize(piece(done, cells));
      MPI_Recv(buffer.data(), static_cast<int>(buffer.size()), MPI_DOUBLE, static_cast<int>(rank), kCells, comm,
               MPI_STATUS_IGNORE);
      collector.take(buffer);
    }
  }
  return collector.close();
}

}  // namespace

void exchange_halos(Plate& plate, MPI_Comm comm) {
  if (plate.block().rows == 0) return;
  // Empty blocks come last, so the one that ends at the plate's last row has no neighbour below.
  const auto rank = static_cast<int>(rank_of(comm));
  const int up = plate.block().first == 0 ? MPI_PROC_NULL : rank - 1;
  const int down = plate.block().first + plate.block().rows == plate.extent().rows ? MPI_PROC_NULL : rank + 1;
  examples::exchange_halo({plate.first_row(), plate.last_row(), plate.above(), plate.below()}, up, down, comm);
}

void write_plate(Plate& plate, const std::string& path, MPI_Comm comm) {
  std::array<char, 512> error{};
  if (rank_of(comm) == 0) {
    const auto text = collect(plate, path, comm);
    text.copy(error.data(), error.size() - 1);
  } else {
    send_block(plate.cells(), comm);
  }
  MPI_Bcast(error.data(), static_cast<int>(error.size()), MPI_CHAR, 0, comm);
  if (error[0] != '\0') throw std::runtime_error(error.data());
}

}  // namespace heat
