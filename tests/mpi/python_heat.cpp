// examples/python/heat.py in C++, for the test beside this file: its results are the same bits, and its snapshots are
// those of the same regions.
//
//   python_heat CONFIG STEPS FILE [LAST]
//
// LAST: the process ends itself there, after a snapshot at L1.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <cairn/cairn.hpp>

namespace {

constexpr std::size_t kRows = 61;
constexpr std::size_t kColumns = 47;

struct Place {
  int rank = 0;
  int size = 1;
  [[nodiscard]] std::size_t first(int of) const {
    return kRows * static_cast<std::size_t>(of) / static_cast<std::size_t>(size);
  }
  [[nodiscard]] std::size_t rows(int of) const { return first(of + 1) - first(of); }
};

// `field`: this rank's rows, and one above and below.
void relax(std::vector<double>& field, std::size_t rows, const Place& place, MPI_Comm comm) {
  const int upper = place.rank > 0 ? place.rank - 1 : MPI_PROC_NULL;
  const int lower = place.rank + 1 < place.size ? place.rank + 1 : MPI_PROC_NULL;
  const auto row = [&](std::size_t r) { return field.data() + r * kColumns; };
  MPI_Sendrecv(row(rows), kColumns, MPI_DOUBLE, lower, 0, row(0), kColumns, MPI_DOUBLE, upper, 0, comm,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(row(1), kColumns, MPI_DOUBLE, upper, 0, row(rows + 1), kColumns, MPI_DOUBLE, lower, 0, comm,
               MPI_STATUS_IGNORE);
  const std::vector<double> before = field;
  for (std::size_t r = 1; r <= rows; ++r)
    for (std::size_t c = 1; c + 1 < kColumns; ++c) {
      const std::size_t at = r * kColumns + c;
      field[at] = (before[at - kColumns] + before[at + kColumns] + before[at - 1] + before[at + 1]) / 4;
    }
}

void write(const std::vector<double>& plate, const Place& place, const std::string& file, MPI_Comm comm) {
  std::vector<int> counts;
  std::vector<int> offsets;
  for (int rank = 0; rank < place.size; ++rank) {
    counts.push_back(static_cast<int>(place.rows(rank) * kColumns));
    offsets.push_back(static_cast<int>(place.first(rank) * kColumns));
  }
  std::vector<double> whole(kRows * kColumns);
  MPI_Gatherv(plate.data(), static_cast<int>(plate.size()), MPI_DOUBLE, whole.data(), counts.data(), offsets.data(),
              MPI_DOUBLE, 0, comm);
  if (place.rank != 0) return;
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(whole.data()), static_cast<std::streamsize>(whole.size() * sizeof(double)));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::int64_t steps = std::atoll(argv[2]);
  const std::int64_t last = argc > 4 ? std::atoll(argv[4]) : 0;
  const int code = cairn::run(MPI_COMM_WORLD, argv[1], [&](cairn::Session& session) {
    Place place;
    MPI_Comm_rank(session.comm(), &place.rank);
    MPI_Comm_size(session.comm(), &place.size);
    const std::size_t rows = place.rows(place.rank);
    std::vector<double> plate(rows * kColumns);
    std::int64_t step = 0;
    session.protect("plate", plate.data(), {rows, kColumns},
                    cairn::GlobalPlace{{kRows, kColumns}, {place.first(place.rank), 0}});
    session.protect("step", step);
    session.restore();
    if (session.last_restore().restored && place.rank == 0) std::printf("continues at step %ld\n", step);
    std::vector<double> field((rows + 2) * kColumns);
    std::fill_n(field.begin(), kColumns, 100.0);
    while (step < steps) {
      std::copy(plate.begin(), plate.end(), field.begin() + kColumns);
      relax(field, rows, place, session.comm());
      std::copy_n(field.begin() + kColumns, plate.size(), plate.begin());
      ++step;
      if (step == last) {
        session.snapshot(cairn::LevelId::local);
        session.wait(cairn::LevelId::local);
        std::raise(SIGTERM);
      }
      session.snapshot();
    }
    write(plate, place, argv[3], session.comm());
  });
  MPI_Finalize();
  return code;
}
