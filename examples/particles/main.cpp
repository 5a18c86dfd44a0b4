// particles: particles that move around a ring, and between ranks. It survives failures, and may continue on another
// number of ranks with the same result.
//
//   ckpt-run -n 4 -- ./particles particles.ini 2000 particles.bin
//
// Each rank has the particles in its part of the ring. restore() on another number of ranks cuts them evenly, in the
// order of the old ranks. That is enough, since each step begins with bringing them to their ranks.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numeric>
#include <span>
#include <vector>

#include <mpi.h>

#include <cairn/cairn.hpp>

namespace {

constexpr std::uint64_t kParticles = 20000;

struct Particles {
  std::vector<std::uint64_t> ids;
  std::vector<double> motion;  // place and speed of each; the ring has places from 0 to 1
};

// Particle i begins on rank i mod size.
Particles place_particles(std::uint32_t rank, std::uint32_t size) {
  Particles mine;
  for (std::uint64_t id = rank; id < kParticles; id += size) {
    const auto number = static_cast<double>(id);
    mine.ids.push_back(id);
    mine.motion.insert(mine.motion.end(), {number / kParticles, std::sin(number)});
  }
  return mine;
}

// Sends the elements from `from`, which are sorted by the ranks that get them: width × counts.
template <class T>
std::vector<T> exchange(std::span<const T> from, MPI_Datatype type, int width, std::vector<int> sent,
                        std::vector<int> received, MPI_Comm comm) {
  std::vector<int> sent_at(sent.size());
  std::vector<int> received_at(received.size());
  for (int& count : sent) count *= width;
  for (int& count : received) count *= width;
  std::exclusive_scan(sent.begin(), sent.end(), sent_at.begin(), 0);
  std::exclusive_scan(received.begin(), received.end(), received_at.begin(), 0);
  std::vector<T> to(static_cast<std::size_t>(std::reduce(received.begin(), received.end())));
  MPI_Alltoallv(from.data(), sent.data(), sent_at.data(), type, to.data(), received.data(), received_at.data(), type,
                comm);
  return to;
}

// Brings each particle to the rank in whose part of the ring it is.
void migrate(Particles& particles, int size, MPI_Comm comm) {
  const auto owner = [&](std::size_t i) {
    return std::min(size - 1, static_cast<int>(particles.motion[2 * i] * size));
  };
  std::vector<std::size_t> order(particles.ids.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, owner);
  Particles sorted;
  std::vector<int> sent(static_cast<std::size_t>(size));
  std::vector<int> received(sent.size());
  for (const std::size_t i : order) {
    ++sent[static_cast<std::size_t>(owner(i))];
    sorted.ids.push_back(particles.ids[i]);
    sorted.motion.insert(sorted.motion.end(), {particles.motion[2 * i], particles.motion[2 * i + 1]});
  }
  MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm);
  particles.ids = exchange<std::uint64_t>(sorted.ids, MPI_UINT64_T, 1, sent, received, comm);
  particles.motion = exchange<double>(sorted.motion, MPI_DOUBLE, 2, sent, received, comm);
}

void move(Particles& particles) {
  for (std::size_t i = 0; i < particles.motion.size(); i += 2) {
    double& place = particles.motion[i];
    place += 0.01 * particles.motion[i + 1];
    place -= std::floor(place);
  }
}

// Rank 0 gets all particles, by their ids, and writes their motion. A sum with zeros is exact.
void write(const Particles& particles, std::int64_t step, const char* file, std::uint32_t rank, MPI_Comm comm) {
  std::vector<double> all(2 * kParticles, 0.0);
  for (std::size_t i = 0; i < particles.ids.size(); ++i)
    std::copy_n(&particles.motion[2 * i], 2, &all[2 * particles.ids[i]]);
  std::vector<double> sums(all.size());
  MPI_Reduce(all.data(), sums.data(), static_cast<int>(all.size()), MPI_DOUBLE, MPI_SUM, 0, comm);
  if (rank != 0) return;
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(sums.data()), 16 * kParticles);
  double momentum = 0;
  for (std::size_t i = 1; i < sums.size(); i += 2) momentum += sums[i];
  std::cout << "particles: the momentum after " << step << " steps is " << momentum << std::endl;
}

void simulate(cairn::Session& session, std::int64_t steps, const char* file) {
  std::int64_t step = 0;
  Particles particles = place_particles(session.rank(), session.size());

  session.protect("step", step, cairn::same);
  session.protect("ids", particles.ids, cairn::sequence);
  session.protect("motion", particles.motion, cairn::like("ids"));
  const auto report = session.restore();
  if (session.rank() == 0 && report.restored)
    std::cout << "particles: continues at step " << step << ", of " << report.old_ranks << " ranks" << std::endl;

  while (step < steps) {
    migrate(particles, static_cast<int>(session.size()), session.comm());
    move(particles);
    ++step;
    session.snapshot();
    if (session.should_stop()) return;
  }
  write(particles, step, file, session.rank(), session.comm());
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 2;
  if (argc == 4) {
    const std::int64_t steps = std::atoll(argv[2]);
    code = cairn::run(MPI_COMM_WORLD, argv[1], [&](cairn::Session& session) { simulate(session, steps, argv[3]); });
  } else {
    std::cerr << "usage: particles CONFIG STEPS FILE\n";
  }
  MPI_Finalize();
  return code;
}
