// A small application for the tests beside this file: particles move along a ring of domains, one for each rank. In
// each step, a rank tells its neighbours how many particles leave for them, and then sends these, so messages and the
// protected state differ in length from step to step.
//
//   lost_particles named --steps N --config FILE --output FILE --pause-ms N
//
// any: ranks receive all that from any rank, and with any tag, in several ways. It shows what it has computed as
// lost_steps does.
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
  Domain(MPI_Comm comm, bool from_any) : comm_(comm), from_any_(from_any) {
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
  // The same. From whom a rank hears first differs from run to run.
  [[nodiscard]] std::array<std::vector<Particle>, 2> exchange_with_any(
      const std::array<std::vector<Particle>, 2>& leaving, std::int64_t step) const {
    std::array<MPI_Request, 4> sends{};
    std::array<int, 2> mine{};
    std::array<int, 2> theirs{};
    std::array<MPI_Request, 2> receives{};
    const int salt = static_cast<int>(step % 2) * 100;
    for (std::size_t i = 0; i < 2; ++i)
      MPI_Irecv(&theirs[i], 1, MPI_INT, MPI_ANY_SOURCE, salt + kCount, comm_, &receives[i]);
    for (std::size_t side = 0; side < 2; ++side) {
      mine[side] = static_cast<int>(leaving[side].size());
      MPI_Isend(&mine[side], 1, MPI_INT, neighbours_[side], salt + kCount, comm_, &sends[side]);
      MPI_Isend(leaving[side].data(), mine[side] * kWords, MPI_INT64_T, neighbours_[side], salt + kPayload, comm_,
                &sends[2 + side]);
    }
    std::array<std::vector<Particle>, 2> arriving;
    const int first = take_probed(arriving[0], salt);
    MPI_Waitall(2, receives.data(), MPI_STATUSES_IGNORE);
    arriving[1].resize(static_cast<std::size_t>(theirs[0] + theirs[1]) - arriving[0].size());
    // The other neighbour has sent its count before.
    const bool any_source = rank_ % 2 == 0;
    MPI_Recv(arriving[1].data(), static_cast<int>(arriving[1].size()) * kWords, MPI_INT64_T,
             any_source ? MPI_ANY_SOURCE : neighbours_[first == neighbours_[0] ? 1 : 0],
             any_source ? salt + kPayload : MPI_ANY_TAG, comm_, MPI_STATUS_IGNORE);
    MPI_Waitall(4, sends.data(), MPI_STATUSES_IGNORE);
    return arriving;
  }
  // Returns where they come from.
  int take_probed(std::vector<Particle>& some, int salt) const {
    MPI_Status status;
    if (rank_ % 2 == 0)
      MPI_Probe(MPI_ANY_SOURCE, salt + kPayload, comm_, &status);
    else
      for (int found = 0; found == 0;) MPI_Iprobe(MPI_ANY_SOURCE, salt + kPayload, comm_, &found, &status);
    int words = 0;
    MPI_Get_count(&status, MPI_INT64_T, &words);
    some.resize(static_cast<std::size_t>(words / kWords));
    MPI_Recv(some.data(), words, MPI_INT64_T, status.MPI_SOURCE, status.MPI_TAG, comm_, MPI_STATUS_IGNORE);
    return status.MPI_SOURCE;
  }
  static int tag(int what, std::size_t side) { return 10 * what + static_cast<int>(side); }

  MPI_Comm comm_;
  bool from_any_;
  int rank_ = 0;
  int size_ = 0;
  std::array<int, 2> neighbours_{};
};

void compute(cairn::Session& session, const Options& options) {
  std::int64_t step = 0;
  Domain domain(session.comm(), options.what == "any");
  session.protect("step", step);
  session.protect("particles", domain.particles);
  if (!session.restore().restored) domain.fill();
  lost::take_steps(session, options, step, [&] {
    domain.step(step);
    return domain.sum();
  });
  lost::write_sums(options.output, domain.sum(), session);
}

}  // namespace

int main(int argc, char** argv) { return lost::run(argc, argv, compute); }
