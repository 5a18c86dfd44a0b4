// A small application for the tests beside this file: in each step it makes all blocking collectives among neighbours,
// on grids and graphs that it makes before restore(), after restore(), or in the step.
//
//   lost_neighbours all --steps N --config FILE --output FILE --pause-ms N
//
// It shows what it has computed as lost_steps does.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <vector>

#include <cairn/cairn.hpp>

#include "lost_program.hpp"
#include "options.hpp"

namespace {

using lost::mix;
using lost::Place;

// Of a rank, at most: the two of each dimension, or the edges of a graph.
constexpr int kMost = 8;
constexpr int kWords = 3;

// Collectives among neighbours. Each depends on all that the rank has received before.
class Exchanges {
 public:
  Exchanges(MPI_Comm comm, std::uint64_t& sum) : comm_(comm), sum_(sum) {
    for (int i = 0; i < kMost; ++i) {
      places_[static_cast<std::size_t>(i)] = i * kWords;
      bytes_[static_cast<std::size_t>(i)] = MPI_Aint{i} * kWords * static_cast<MPI_Aint>(sizeof(std::uint64_t));
    }
    counts_.fill(kWords);
    types_.fill(MPI_UINT64_T);
  }

  void make_all() {
    prepare();
    MPI_Neighbor_allgather(out_.data(), kWords, MPI_UINT64_T, in_.data(), kWords, MPI_UINT64_T, comm_);
    absorb();
    MPI_Neighbor_allgatherv(out_.data(), kWords, MPI_UINT64_T, in_.data(), counts_.data(), places_.data(), MPI_UINT64_T,
                            comm_);
    absorb();
    MPI_Neighbor_alltoall(out_.data(), kWords, MPI_UINT64_T, in_.data(), kWords, MPI_UINT64_T, comm_);
    absorb();
    MPI_Neighbor_alltoallv(out_.data(), counts_.data(), places_.data(), MPI_UINT64_T, in_.data(), counts_.data(),
                           places_.data(), MPI_UINT64_T, comm_);
    absorb();
    MPI_Neighbor_alltoallw(out_.data(), counts_.data(), bytes_.data(), types_.data(), in_.data(), counts_.data(),
                           bytes_.data(), types_.data(), comm_);
    absorb();
  }

 private:
  void prepare() {
    in_.fill(0);
    for (std::size_t i = 0; i < out_.size(); ++i) out_[i] = mix(sum_, i);
  }
  void absorb() {
    for (const std::uint64_t word : in_) sum_ = mix(sum_, word);
    prepare();
  }
  MPI_Comm comm_;
  std::uint64_t& sum_;
  std::array<std::uint64_t, std::size_t{kMost} * kWords> out_{};
  std::array<std::uint64_t, std::size_t{kMost} * kWords> in_{};
  std::array<int, kMost> counts_{};
  std::array<int, kMost> places_{};
  std::array<MPI_Aint, kMost> bytes_{};
  std::array<MPI_Datatype, kMost> types_{};
};

// In the first dimension nobody is before the first row or after the last one.
MPI_Comm make_grid(MPI_Comm comm) {
  const std::array lengths{Place(comm).size / 2, 2};
  const std::array periodic{0, 1};
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Cart_create(comm, 2, lengths.data(), periodic.data(), 0, &grid);
  return grid;
}

MPI_Comm make_graph(MPI_Comm comm) {
  const int size = Place(comm).size;
  std::vector<int> index;
  std::vector<int> edges;
  for (int rank = 0; rank < size; ++rank) {
    edges.insert(edges.end(), {(rank + 1) % size, rank, (rank + size - 1) % size});
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm graph = MPI_COMM_NULL;
  MPI_Graph_create(comm, size, index.data(), edges.data(), 0, &graph);
  return graph;
}

// Two edges to the rank that lies `distance` further on, one to this rank, and one from each rank to rank 0.
MPI_Comm make_graph_of_neighbours(MPI_Comm comm, int distance) {
  const Place at(comm);
  const int to = (at.rank + distance) % at.size;
  const int from = (at.rank + at.size - distance) % at.size;
  const std::vector<int> targets{to, at.rank, 0, to};
  std::vector<int> sources{from, at.rank, from};
  for (int rank = at.size - 1; rank >= 0 && at.rank == 0; --rank) sources.push_back(rank);
  const std::vector<int> in_weights(sources.size(), distance);
  const std::vector<int> out_weights(targets.size(), distance);
  MPI_Comm graph = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(comm, static_cast<int>(sources.size()), sources.data(), in_weights.data(),
                                 static_cast<int>(targets.size()), targets.data(), out_weights.data(), MPI_INFO_NULL, 0,
                                 &graph);
  return graph;
}

// What MPI says of this rank's part of a graph.
std::uint64_t shape_of(MPI_Comm graph) {
  int in = 0;
  int out = 0;
  int weighted = 0;
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  std::vector<int> all(2 * static_cast<std::size_t>(in + out));
  int* const sources = all.data();
  int* const targets = sources + 2 * in;
  MPI_Dist_graph_neighbors(graph, in, sources, sources + in, out, targets, targets + out);
  std::uint64_t sum = static_cast<std::uint64_t>(weighted);
  for (const int one : all) sum = mix(sum, static_cast<std::uint64_t>(one));
  return sum;
}

class Kept {
 public:
  explicit Kept(const std::vector<MPI_Comm>& all) : all_(all) {}
  ~Kept() {
    for (MPI_Comm& comm : all_) MPI_Comm_free(&comm);
  }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  void use(std::uint64_t& sum) const {
    for (const MPI_Comm comm : all_) Exchanges(comm, sum).make_all();
  }

 private:
  std::vector<MPI_Comm> all_;
};

void use_for_this_step(MPI_Comm comm, std::int64_t step, std::uint64_t& sum) {
  const int distance = 1 + static_cast<int>(step % 2);
  MPI_Comm graph = make_graph_of_neighbours(comm, distance);
  sum = mix(sum, shape_of(graph));
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(graph, &copy);
  MPI_Comm_free(&graph);
  sum = mix(sum, shape_of(copy));
  Exchanges(copy, sum).make_all();
  MPI_Comm_free(&copy);
}

void compute(cairn::Session& session, const Options& options) {
  const MPI_Comm comm = session.comm();
  std::int64_t step = 0;
  std::uint64_t sum = session.rank();
  const MPI_Comm first_graph = make_graph_of_neighbours(comm, 1);
  const std::uint64_t shape = shape_of(first_graph);
  const Kept first({make_grid(comm), make_graph(comm), first_graph});
  std::uint64_t before = 1;
  first.use(before);
  session.protect("step", step);
  session.protect("sum", sum);
  session.restore();
  const MPI_Comm second_graph = make_graph_of_neighbours(comm, 2);
  const Kept second({make_grid(comm), second_graph});
  lost::take_steps(session, options, step, [&] {
    sum = mix(mix(mix(sum, before), shape), shape_of(second_graph));
    first.use(sum);
    second.use(sum);
    use_for_this_step(comm, step, sum);
    return sum;
  });
  lost::write_sums(options.output, sum, session);
}

}  // namespace

int main(int argc, char** argv) { return lost::run(argc, argv, compute); }
