// A program whose result has the same bits on any number of ranks: a periodic field in blocks with ghosts, and
// particles. Rank 0 kills itself at a step, if it is told to.
//
//   elastic CONFIG STEPS DIE_AT
#include <mpi.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cairn/cairn.hpp>

namespace {

constexpr std::uint64_t kCells = 1003;
constexpr std::uint64_t kParticles = 5000;

struct Particle {
  std::uint64_t id;
  double x;
};

std::uint64_t bits_of(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// A block of the field, with a ghost on both sides.
struct Field {
  std::uint64_t first, count;
  std::vector<double> cells;

  explicit Field(const cairn::Session& session) {
    first = kCells * session.rank() / session.size();
    count = kCells * (session.rank() + 1) / session.size() - first;
    cells.resize(count + 2);
    for (std::uint64_t i = 0; i < count; ++i) cells[i + 1] = static_cast<double>((first + i) * (first + i) % 97);
  }
  void exchange_ghosts(const cairn::Session& session) {
    const int ranks = static_cast<int>(session.size());
    const int me = static_cast<int>(session.rank());
    const int left = (me + ranks - 1) % ranks;
    const int right = (me + 1) % ranks;
    MPI_Sendrecv(&cells[1], 1, MPI_DOUBLE, left, 1, &cells[count + 1], 1, MPI_DOUBLE, right, 1, session.comm(),
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&cells[count], 1, MPI_DOUBLE, right, 2, &cells[0], 1, MPI_DOUBLE, left, 2, session.comm(),
                 MPI_STATUS_IGNORE);
  }
  void relax() {
    const std::vector<double> before = cells;
    for (std::uint64_t i = 1; i <= count; ++i) cells[i] = 0.25 * before[i - 1] + 0.5 * before[i] + 0.25 * before[i + 1];
  }
};

// The same whatever the order of the terms.
std::uint64_t digest(const cairn::Session& session, const Field& field, const std::vector<Particle>& particles) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < field.count; ++i) sum += bits_of(field.cells[i + 1]) * (2 * (field.first + i) + 1);
  for (const Particle& particle : particles) sum += bits_of(particle.x) * (2 * particle.id + 1);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, session.comm());
  return sum;
}

void compute(cairn::Session& session, int steps, int die_at) {
  int step = 0;
  Field field(session);
  std::vector<Particle> particles;
  for (std::uint64_t id = session.rank(); id < kParticles; id += session.size())
    particles.push_back({id, 0.001 * static_cast<double>(id)});
  session.protect("step", step, cairn::same);
  session.protect("field", field.cells, cairn::GlobalPlace{{kCells}, {field.first}, {1}, {1}});
  session.protect("particles", particles, cairn::sequence);
  const cairn::RestoreReport report = session.restore();
  if (session.rank() == 0) std::printf("elastic: begins at step %d, of %u ranks\n", step, report.old_ranks);
  std::fflush(stdout);
  while (step < steps) {
    field.exchange_ghosts(session);
    field.relax();
    for (Particle& particle : particles) particle.x = particle.x * 1.0001 + 0.01 * static_cast<double>(particle.id % 7);
    ++step;
    if (step == die_at && session.rank() == 0) std::raise(SIGKILL);
    session.snapshot();
    if (step % 5 == 0) session.wait(cairn::LevelId::global);
  }
  const std::uint64_t result = digest(session, field, particles);
  if (session.rank() == 0) std::printf("elastic: result %016llx\n", static_cast<unsigned long long>(result));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) return 2;
  const int steps = std::atoi(argv[2]);
  const int die_at = std::atoi(argv[3]);
  const int code =
      cairn::run(MPI_COMM_WORLD, argv[1], [&](cairn::Session& session) { compute(session, steps, die_at); });
  MPI_Finalize();
  return code;
}
