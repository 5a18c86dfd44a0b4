// bench-kernels: two programs that communicate as FT and IS of the NAS Parallel Benchmarks do, for localize.py. They
// are not those benchmarks: sizes and numbers are Cairn's own.
//
//   ft  the Fourier transform of a cube that lies on the ranks in slabs, there and back: MPI_Alltoall moves all of it
//   is  bucket sort of random keys: MPI_Allreduce of the sizes of the buckets, MPI_Alltoall, MPI_Alltoallv of the keys
//
// Each step checks its result. The first rank of each node reports something to Cairn all the time: symptoms for the
// heads, which find nothing. Prints "seconds N", the time from the first step to the last.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>
#include <CLI/CLI.hpp>

#include <cairn/cairn.hpp>

#include "common.hpp"

namespace {

using Complex = std::complex<double>;

struct Options {
  bench::Setting setting;
  std::string config;
  std::string kernel;
  std::int64_t steps = 1;
  std::size_t side = 64;     // of the cube
  std::size_t keys = 65536;  // of all ranks
  int ranks_of_node = 2;
  double reports = 10;  // per second and node
};

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

// In place; as many values as a power of two. Backwards: without the division by their number.
void transform(Complex* values, std::size_t count, bool backwards) {
  for (std::size_t i = 1, j = 0; i < count; ++i) {
    std::size_t bit = count / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(values[i], values[j]);
  }
  for (std::size_t length = 2; length <= count; length *= 2) {
    const double angle = (backwards ? 2 : -2) * std::numbers::pi / static_cast<double>(length);
    const Complex turn = std::polar(1.0, angle);
    for (std::size_t begin = 0; begin < count; begin += length) {
      Complex factor = 1;
      for (std::size_t i = begin; i < begin + length / 2; ++i, factor *= turn) {
        const Complex even = values[i];
        const Complex odd = values[i + length / 2] * factor;
        values[i] = even + odd;
        values[i + length / 2] = even - odd;
      }
    }
  }
}

// A rank has side / ranks planes of side x side values.
class Fourier {
 public:
  Fourier(MPI_Comm comm, std::size_t side) : comm_(comm), side_(side) {
    int ranks = 0;
    int rank = 0;
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &rank);
    ranks_ = static_cast<std::size_t>(ranks);
    require(std::has_single_bit(side) && side % ranks_ == 0, "the side must be a power of two that ranks divide");
    planes_ = side / ranks_;
    std::mt19937_64 dice(static_cast<std::uint64_t>(rank));
    std::uniform_real_distribution<double> numbers(-1, 1);
    cube_.resize(planes_ * side * side);
    for (Complex& value : cube_) value = {numbers(dice), numbers(dice)};
    packed_ = cube_;
  }

  void step() {
    const auto before = cube_;
    pass_planes(false);
    transpose();
    transform_lines(false);
    transform_lines(true);
    transpose();
    pass_planes(true);
    const auto all = static_cast<double>(side_ * side_ * side_);
    double error = 0;
    for (std::size_t i = 0; i < cube_.size(); ++i) {
      cube_[i] /= all;
      error = std::max(error, std::abs(cube_[i] - before[i]));
    }
    require(error < 1e-9, "the transform there and back has changed the cube");
  }

 private:
  void transform_lines(bool backwards) {
    for (std::size_t line = 0; line < planes_ * side_; ++line) transform(&cube_[line * side_], side_, backwards);
  }
  // (z, y, x) to (z, x, y) of each plane.
  void turn_planes() {
    for (std::size_t z = 0; z < planes_; ++z) {
      Complex* plane = &cube_[z * side_ * side_];
      for (std::size_t y = 0; y < side_; ++y)
        for (std::size_t x = y + 1; x < side_; ++x) std::swap(plane[y * side_ + x], plane[x * side_ + y]);
    }
  }
  // (z, y, x), z on the ranks, to (x, y, z), x on the ranks. Its own inverse.
  void transpose() {
    const std::size_t block = planes_ * side_ * planes_;
    for (std::size_t to = 0; to < ranks_; ++to)
      for (std::size_t z = 0; z < planes_; ++z)
        for (std::size_t y = 0; y < side_; ++y)
          for (std::size_t x = 0; x < planes_; ++x)
            packed_[to * block + (x * side_ + y) * planes_ + z] = cube_[(z * side_ + y) * side_ + to * planes_ + x];
    std::vector<Complex> received(cube_.size());
    const int count = static_cast<int>(block);
    MPI_Alltoall(packed_.data(), count, MPI_C_DOUBLE_COMPLEX, received.data(), count, MPI_C_DOUBLE_COMPLEX, comm_);
    for (std::size_t from = 0; from < ranks_; ++from)
      for (std::size_t line = 0; line < planes_ * side_; ++line)
        std::copy_n(&received[from * block + line * planes_], planes_, &cube_[line * side_ + from * planes_]);
  }
  void pass_planes(bool backwards) {
    transform_lines(backwards);
    turn_planes();
    transform_lines(backwards);
    turn_planes();
  }

  MPI_Comm comm_;
  std::size_t side_;
  std::size_t ranks_ = 1;
  std::size_t planes_ = 1;  // of this rank
  std::vector<Complex> cube_, packed_;
};

class Sort {
 public:
  static constexpr std::uint32_t kMostKey = 1U << 19U;

  Sort(MPI_Comm comm, std::size_t keys) : comm_(comm) {
    MPI_Comm_size(comm, &ranks_);
    MPI_Comm_rank(comm, &rank_);
    keys_.resize(std::max<std::size_t>(1, keys / static_cast<std::size_t>(ranks_)));
  }

  void step() {
    std::mt19937 dice(static_cast<std::uint32_t>(rank_ + ranks_ * steps_++));
    for (std::uint32_t& key : keys_) key = dice() % kMostKey;
    const auto buckets = static_cast<std::size_t>(ranks_);
    const auto bucket_of = [&](std::uint32_t key) { return std::size_t{key} * buckets / kMostKey; };
    std::vector<int> counts(buckets), sizes(buckets), coming(buckets);
    for (const std::uint32_t key : keys_) ++counts[bucket_of(key)];
    MPI_Allreduce(counts.data(), sizes.data(), ranks_, MPI_INT, MPI_SUM, comm_);
    MPI_Alltoall(counts.data(), 1, MPI_INT, coming.data(), 1, MPI_INT, comm_);
    const auto out = begins_of(counts);
    const auto in = begins_of(coming);
    std::vector<std::uint32_t> sent(keys_.size());
    auto next = out;
    for (const std::uint32_t key : keys_) sent[static_cast<std::size_t>(next[bucket_of(key)]++)] = key;
    std::vector<std::uint32_t> mine(static_cast<std::size_t>(sizes[static_cast<std::size_t>(rank_)]));
    MPI_Alltoallv(sent.data(), counts.data(), out.data(), MPI_UINT32_T, mine.data(), coming.data(), in.data(),
                  MPI_UINT32_T, comm_);
    std::ranges::sort(mine);
    check(mine);
  }

 private:
  static std::vector<int> begins_of(const std::vector<int>& counts) {
    std::vector<int> begins(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
    return begins;
  }
  // The keys of all are the same as before, and each rank's lie between those of its neighbours.
  void check(const std::vector<std::uint32_t>& mine) const {
    const auto sum = [](const std::vector<std::uint32_t>& keys) {
      return std::accumulate(keys.begin(), keys.end(), std::uint64_t{0});
    };
    std::array<std::uint64_t, 2> sums{sum(keys_), sum(mine)};
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_UINT64_T, MPI_SUM, comm_);
    require(sums[0] == sums[1], "the sorted keys are not those that were to be sorted");
    const std::uint64_t all = std::uint64_t{kMostKey} * static_cast<std::uint64_t>(rank_);
    const bool above = mine.empty() || std::uint64_t{mine.front()} * static_cast<std::uint64_t>(ranks_) >= all;
    const bool below = mine.empty() || std::uint64_t{mine.back()} * static_cast<std::uint64_t>(ranks_) < all + kMostKey;
    require(above && below, "a rank has got keys of another one's bucket");
  }

  MPI_Comm comm_;
  int ranks_ = 1;
  int rank_ = 0;
  int steps_ = 0;
  std::vector<std::uint32_t> keys_;
};

void measure(const Options& options) {
  const auto session = cairn::Session::open(MPI_COMM_WORLD, options.config);
  if (!session) return;
  const bench::Ranks ranks(session->comm());
  std::int64_t step = 0;
  session->protect("step", step);
  session->restore();
  std::function<void()> kernel;
  if (options.kernel == "ft") {
    kernel = [fourier = Fourier(session->comm(), options.side)]() mutable { fourier.step(); };
  } else {
    kernel = [sort = Sort(session->comm(), options.keys)]() mutable { sort.step(); };
  }
  const bool reports = options.reports > 0 && ranks.rank() % static_cast<std::size_t>(options.ranks_of_node) == 0;
  kernel();  // the first takes longer
  ranks.meet();
  const double start = bench::now();
  double next = start;
  for (; step < options.steps; ++step) {
    kernel();
    for (; reports && bench::now() >= next; next += 1 / options.reports) session->suspect("a value is unusual");
  }
  const double took = ranks.slowest(bench::Values{bench::now() - start})[0];
  if (ranks.rank() == 0) fmt::print("seconds {}\n", took);
  session->finalize();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Runs a program that communicates all the time, under Cairn's heads.", "bench-kernels"};
  app.add_option("--config", options.config, "Cairn's INI file")->required();
  app.add_option("--kernel", options.kernel, "ft or is")->required()->check(CLI::IsMember({"ft", "is"}));
  app.add_option("--steps", options.steps, "Timed steps")->check(CLI::PositiveNumber);
  app.add_option("--side", options.side, "Of the cube that is transformed")->check(CLI::PositiveNumber);
  app.add_option("--keys", options.keys, "That all ranks sort together")->check(CLI::PositiveNumber);
  app.add_option("--ranks-of-node", options.ranks_of_node, "Ranks of each node")->check(CLI::PositiveNumber);
  app.add_option("--reports", options.reports, "Of each node, per second")->check(CLI::NonNegativeNumber);
  return bench::run(argc, argv, app, options.setting, [&] { measure(options); });
}
