// A small application for the tests beside this file: particles move along a ring of domains, one for each rank. In
// each step, a rank tells its neighbours how many particles leave for them, and then sends these, so messages and the
// protected state differ in length from step to step.
//
//   lost_particles named --steps N --config FILE --output FILE --pause-ms N
//
// It shows what it has computed as lost_steps does.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <cairn/cairn.hpp>

#include "lost_program.hpp"
#include "options.hpp"

namespace {

using lost::mix;

constexpr std::int64_t kDomain = 1000;    // length of one
constexpr std::int64_t kParticles = 200;  // of a rank, at first

struct Particle {
  std::int64_t number = 0;
  std::int64_t place = 0;
  std::int64_t speed = 0;
};
constexpr int kWords = sizeof(Particle) / sizeof(std::int64_t);

constexpr int kCount = 1;
constexpr int kPayload = 2;

class Domain {
 public:
  explicit Domain(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    neighbours_ = {(rank_ + size_ - 1) % size_, (rank_ + 1) % size_};
  }

  void fill() {
    for (std::int64_t i = 0; i < kParticles; ++i) {
      const auto random = mix(static_cast<std::uint64_t>(rank_ * kParticles + i), 1);
      particles.push_back({rank_ * kParticles + i, rank_ * kDomain + static_cast<std::int64_t>(random % kDomain),
                           static_cast<std::int64_t>(random >> 32U) % 400 - 200});
    }
  }

  // What arrives, and how fast it is, depends on the particles that were here before.
  void step(std::int64_t step) {
    std::array<std::vector<Particle>, 2> leaving;
    const std::int64_t whole = size_ * kDomain;
    std::vector<Particle> staying;
    for (Particle& one : particles) {
      one.place = (one.place + one.speed + whole) % whole;
      const auto domain = static_cast<int>(one.place / kDomain);
      if (domain == rank_)
        staying.push_back(one);
      else
        leaving[domain == neighbours_[0] ? 0 : 1].push_back(one);
    }
    particles = std::move(staying);
    for (const std::vector<Particle>& some : exchange(leaving))
      particles.insert(particles.end(), some.begin(), some.end());
    std::ranges::sort(particles, {}, &Particle::number);
    for (Particle& one : particles) {
      const auto turn =
          mix(static_cast<std::uint64_t>(one.number), static_cast<std::uint64_t>(step) + particles.size());
      one.speed = (one.speed + static_cast<std::int64_t>(turn % 41) - 20) % 300;
    }
  }

  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t sum = particles.size();
    for (const Particle& one : particles)
      for (const std::int64_t word : {one.number, one.place, one.speed})
        sum = mix(sum, static_cast<std::uint64_t>(word));
    return sum;
  }

  std::vector<Particle> particles;

 private:
  // With both neighbours, which are one if there are only two ranks.
  [[nodiscard]] std::array<std::vector<Particle>, 2> exchange(
      const std::array<std::vector<Particle>, 2>& leaving) const {
    std::array<int, 2> mine{};
    std::array<int, 2> theirs{};
    std::array<MPI_Request, 4> requests{};
    for (std::size_t side = 0; side < 2; ++side) {
      mine[side] = static_cast<int>(leaving[side].size());
      MPI_Irecv(&theirs[side], 1, MPI_INT, neighbours_[side], tag(kCount, 1 - side), comm_, &requests[side]);
      MPI_Isend(&mine[side], 1, MPI_INT, neighbours_[side], tag(kCount, side), comm_, &requests[2 + side]);
    }
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
    std::array<std::vector<Particle>, 2> arriving;
    std::vector<MPI_Request> open;
    for (std::size_t side = 0; side < 2; ++side) {
      arriving[side].resize(static_cast<std::size_t>(theirs[side]));
      if (theirs[side] > 0)
        MPI_Irecv(arriving[side].data(), theirs[side] * kWords, MPI_INT64_T, neighbours_[side], tag(kPayload, 1 - side),
                  comm_, &open.emplace_back());
    }
    for (std::size_t side = 0; side < 2; ++side)
      if (mine[side] > 0)
        MPI_Isend(leaving[side].data(), mine[side] * kWords, MPI_INT64_T, neighbours_[side], tag(kPayload, side), comm_,
                  &open.emplace_back());
    MPI_Waitall(static_cast<int>(open.size()), open.data(), MPI_STATUSES_IGNORE);
    return arriving;
  }
  static int tag(int what, std::size_t side) { return 10 * what + static_cast<int>(side); }

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 0;
  std::array<int, 2> neighbours_{};
};

void compute(cairn::Session& session, const Options& options) {
  std::int64_t step = 0;
  Domain domain(session.comm());
  session.protect("step", step);
  session.protect("particles", domain.particles);
  if (!session.restore().restored) domain.fill();
  lost::StepLog steps(session);
  while (step < options.steps) {
    domain.step(step);
    ++step;
    session.snapshot();
    steps.add(step, domain.sum());
    std::this_thread::sleep_for(std::chrono::milliseconds(options.pause_ms));
  }
  lost::write_sums(options.output, domain.sum(), session);
}

}  // namespace

int main(int argc, char** argv) { return lost::run(argc, argv, compute); }
