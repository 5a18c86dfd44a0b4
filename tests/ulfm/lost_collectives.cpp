// A small application for the tests beside this file: in each step it makes every blocking collective that Cairn
// replays, and before restore() it exchanges messages in several ways, too; if they are short, also with any rank.
//
//   lost_collectives short|long|derived --steps N --config FILE --output FILE --pause-ms N
//
// derived: on communicators that it has made before restore(). It shows what it has computed as lost_steps does.
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include <cairn/cairn.hpp>

#include "lost_program.hpp"
#include "options.hpp"

namespace {

using lost::mix;
using Words = std::vector<std::uint64_t>;

// Collectives of one rank. Each depends on all that the rank has received before.
class Collectives {
 public:
  Collectives(MPI_Comm comm, int words, std::uint64_t& sum) : comm_(comm), words_(words), sum_(sum) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }

  void make_all(int root) {
    MPI_Barrier(comm_);
    send_from(root);
    gather_at(root);
    gather_at_all();
    exchange();
    reduce(root);
    reduce_in_parts();
  }

 private:
  [[nodiscard]] Words mine(int count) const {
    Words words(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = mix(sum_, i);
    return words;
  }
  [[nodiscard]] Words room(int count) const { return Words(static_cast<std::size_t>(count)); }
  void absorb(const Words& received) {
    for (const auto word : received) sum_ = mix(sum_, word);
  }
  // Rank r has words_ + r.
  [[nodiscard]] std::vector<int> counts() const {
    std::vector<int> counts(static_cast<std::size_t>(size_));
    std::iota(counts.begin(), counts.end(), words_);
    return counts;
  }
  [[nodiscard]] static std::vector<int> places(const std::vector<int>& counts) {
    std::vector<int> places(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    return places;
  }

  void send_from(int root) {
    Words all = mine(words_);
    MPI_Bcast(all.data(), words_, MPI_UINT64_T, root, comm_);
    absorb(all);
    const Words out = mine(words_ * size_);
    MPI_Scatter(out.data(), words_, MPI_UINT64_T, all.data(), words_, MPI_UINT64_T, root, comm_);
    absorb(all);
    const auto counts = this->counts();
    const Words uneven = mine(std::accumulate(counts.begin(), counts.end(), 0));
    Words part = room(words_ + rank_);
    MPI_Scatterv(uneven.data(), counts.data(), places(counts).data(), MPI_UINT64_T, part.data(), words_ + rank_,
                 MPI_UINT64_T, root, comm_);
    absorb(part);
  }
  void gather_at(int root) {
    const Words out = mine(words_ + rank_);
    Words all = room(rank_ == root ? words_ * size_ : 0);
    MPI_Gather(out.data(), words_, MPI_UINT64_T, all.data(), words_, MPI_UINT64_T, root, comm_);
    absorb(all);
    const auto counts = this->counts();
    Words uneven = room(rank_ == root ? std::accumulate(counts.begin(), counts.end(), 0) : 0);
    MPI_Gatherv(out.data(), words_ + rank_, MPI_UINT64_T, uneven.data(), counts.data(), places(counts).data(),
                MPI_UINT64_T, root, comm_);
    absorb(uneven);
  }
  void gather_at_all() {
    const Words out = mine(words_ + rank_);
    Words all = room(words_ * size_);
    MPI_Allgather(out.data(), words_, MPI_UINT64_T, all.data(), words_, MPI_UINT64_T, comm_);
    absorb(all);
    const auto counts = this->counts();
    Words uneven = room(std::accumulate(counts.begin(), counts.end(), 0));
    MPI_Allgatherv(out.data(), words_ + rank_, MPI_UINT64_T, uneven.data(), counts.data(), places(counts).data(),
                   MPI_UINT64_T, comm_);
    absorb(uneven);
  }
  void exchange() {
    const Words out = mine(words_ * size_);
    Words in = room(words_ * size_);
    MPI_Alltoall(out.data(), words_, MPI_UINT64_T, in.data(), words_, MPI_UINT64_T, comm_);
    absorb(in);
    const std::vector<int> counts(static_cast<std::size_t>(size_), words_);
    std::vector<int> places = Collectives::places(counts);
    MPI_Alltoallv(out.data(), counts.data(), places.data(), MPI_UINT64_T, in.data(), counts.data(), places.data(),
                  MPI_UINT64_T, comm_);
    absorb(in);
    for (int& place : places) place *= static_cast<int>(sizeof(std::uint64_t));
    const std::vector<MPI_Datatype> types(counts.size(), MPI_UINT64_T);
    MPI_Alltoallw(out.data(), counts.data(), places.data(), types.data(), in.data(), counts.data(), places.data(),
                  types.data(), comm_);
    absorb(in);
  }
  void reduce(int root) {
    const Words out = mine(words_);
    Words in = room(words_);
    MPI_Reduce(out.data(), in.data(), words_, MPI_UINT64_T, MPI_SUM, root, comm_);
    absorb(in);
    MPI_Allreduce(out.data(), in.data(), words_, MPI_UINT64_T, MPI_BXOR, comm_);
    absorb(in);
    // A sum of floating-point numbers, whose bits depend on its order.
    const double part = 1.0 / static_cast<double>(1 + sum_ % 1000);
    double whole = 0;
    MPI_Allreduce(&part, &whole, 1, MPI_DOUBLE, MPI_SUM, comm_);
    sum_ = mix(sum_, static_cast<std::uint64_t>(whole * 1e15));
  }
  void reduce_in_parts() {
    const auto counts = this->counts();
    const Words out = mine(std::accumulate(counts.begin(), counts.end(), 0));
    Words in = room(words_ + rank_);
    MPI_Reduce_scatter_block(out.data(), in.data(), words_, MPI_UINT64_T, MPI_SUM, comm_);
    absorb(in);
    MPI_Reduce_scatter(out.data(), in.data(), counts.data(), MPI_UINT64_T, MPI_SUM, comm_);
    absorb(in);
    MPI_Scan(out.data(), in.data(), words_, MPI_UINT64_T, MPI_SUM, comm_);
    absorb(in);
    if (rank_ != 0) in = room(words_);
    MPI_Exscan(out.data(), in.data(), words_, MPI_UINT64_T, MPI_SUM, comm_);
    absorb(in);
  }

  MPI_Comm comm_;
  int words_;
  std::uint64_t& sum_;
  int rank_ = 0;
  int size_ = 0;
};

// Ranks learn who needs them: whom they hear of first differs from run to run. What is sent may be what was received.
std::uint64_t learn_of_neighbours(MPI_Comm comm, int rank, int size) {
  std::vector<int> numbers(static_cast<std::size_t>(size), rank);
  std::vector<MPI_Request> requests;
  for (int i = 1; i < size; ++i)
    MPI_Irecv(&numbers[static_cast<std::size_t>(i)], 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &requests.emplace_back());
  for (int i = 1; i < size; ++i)
    MPI_Send(&numbers[static_cast<std::size_t>(i)], 1, MPI_INT, (rank + i) % size, 3, comm);
  std::uint64_t sum = 0;
  for (MPI_Request& request : requests) {
    MPI_Status status;
    MPI_Wait(&request, &status);
    sum += std::uint64_t{1} << static_cast<unsigned>(status.MPI_SOURCE);
  }
  for (int i = 1; i < size; ++i) MPI_Send(&rank, 1, MPI_INT, (rank + i) % size, 4, comm);
  for (int i = 1; i < size; ++i) {
    MPI_Status status;
    int theirs = -1;
    MPI_Probe(MPI_ANY_SOURCE, 4, comm, &status);
    MPI_Recv(&theirs, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm, MPI_STATUS_IGNORE);
    sum += static_cast<std::uint64_t>(theirs == status.MPI_SOURCE);
  }
  for (int i = 1; i < size; ++i) MPI_Send(&rank, 1, MPI_INT, (rank + i) % size, 5, comm);
  for (int i = 1; i < size; ++i) {
    int theirs = -1;
    MPI_Recv(&theirs, 1, MPI_INT, MPI_ANY_SOURCE, 5, comm, MPI_STATUS_IGNORE);
    sum += static_cast<std::uint64_t>(theirs) * 1000;
  }
  return sum;
}

// What programs do first: they share their input, and learn of their neighbours.
std::uint64_t set_up(MPI_Comm comm, int words, bool learns) {
  std::uint64_t sum = 1;
  Collectives(comm, words, sum).make_all(0);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int left = (rank + size - 1) % size;
  const int right = (rank + 1) % size;
  std::array<std::uint64_t, 2> theirs{};
  std::array<MPI_Request, 2> requests{};
  MPI_Irecv(theirs.data(), 1, MPI_UINT64_T, left, 1, comm, requests.data());
  MPI_Isend(&sum, 1, MPI_UINT64_T, right, 1, comm, &requests[1]);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  const std::vector<std::uint64_t> some(static_cast<std::size_t>(1 + rank), sum);
  MPI_Isend(some.data(), 1 + rank, MPI_UINT64_T, right, 2, comm, requests.data());
  MPI_Status status;
  MPI_Probe(left, 2, comm, &status);
  int count = 0;
  MPI_Get_count(&status, MPI_UINT64_T, &count);
  Words more(static_cast<std::size_t>(count));
  MPI_Recv(more.data(), count, MPI_UINT64_T, left, 2, comm, MPI_STATUS_IGNORE);
  MPI_Wait(requests.data(), MPI_STATUS_IGNORE);
  for (const auto word : more) sum = mix(sum, word ^ theirs[0]);
  return learns ? mix(sum, learn_of_neighbours(comm, rank, size)) : sum;
}

// The communicators of many programs: one of their own, the halves of all ranks, and a periodic grid of two columns.
struct Communicators {
  void make(MPI_Comm comm) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_dup(comm, &all.front());
    MPI_Comm_split(all.front(), rank % 2, size - rank, &all[1]);
    const std::array lengths{size / 2, 2};
    const std::array periodic{1, 1};
    MPI_Cart_create(comm, 2, lengths.data(), periodic.data(), 0, &all[2]);
  }
  void free() {
    for (MPI_Comm& comm : all) MPI_Comm_free(&comm);
  }
  std::array<MPI_Comm, 3> all{};
};

void use(MPI_Comm comm, int words, std::uint64_t& sum) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::uint64_t theirs = 0;
  MPI_Sendrecv(&sum, 1, MPI_UINT64_T, (rank + 1) % size, 6, &theirs, 1, MPI_UINT64_T, (rank + size - 1) % size, 6, comm,
               MPI_STATUS_IGNORE);
  sum = mix(sum, theirs);
  Collectives(comm, words, sum).make_all(0);
}

void compute(cairn::Session& session, const Options& options) {
  const bool derives = options.what == "derived";
  Communicators communicators;
  if (derives) communicators.make(session.comm());
  const int words = options.what == "long" ? 3000 : 3;
  const std::uint64_t set = set_up(session.comm(), words, options.what == "short");
  std::int64_t step = 0;
  std::uint64_t sum = session.rank();
  session.protect("step", step);
  session.protect("sum", sum);
  session.restore();
  lost::take_steps(session, options, step, [&] {
    sum = mix(sum, set);
    if (!derives)
      Collectives(session.comm(), words, sum).make_all(static_cast<int>(step) % static_cast<int>(session.size()));
    else
      for (const MPI_Comm comm : communicators.all) use(comm, words, sum);
    return sum;
  });
  if (derives) communicators.free();
  lost::write_sums(options.output, sum, session);
}

}  // namespace

int main(int argc, char** argv) { return lost::run(argc, argv, compute); }
