// Calls that Cairn makes of others in a job that repairs itself, with long messages: their results must be MPI's own.
//
//   guarded any --steps N --config FILE --output FILE --pause-ms N
//
// On five ranks. Rank 0 writes how many checks were wrong, on all ranks.
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <vector>

#include <mpi.h>

#include <cairn/cairn.hpp>

#include "lost_program.hpp"
#include "options.hpp"

namespace {

constexpr int kMany = 1 << 14;  // 128 KiB
constexpr int kTag = 3;

struct Checks : lost::Place {
  MPI_Comm comm;
  int wrong = 0;

  explicit Checks(MPI_Comm of) : Place(of), comm(of) {}
  void expect(bool holds, const char* what) {
    if (holds) return;
    std::printf("guarded: rank %d: %s is wrong\n", rank, what);
    ++wrong;
  }
};

std::vector<double> filled(int first) {
  std::vector<double> numbers(kMany);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

// Both neighbours in the first dimension are the same rank.
void exchange_in_a_grid(Checks& check) {
  MPI_Comm four = MPI_COMM_NULL;
  MPI_Comm_split(check.comm, check.rank < 4 ? 0 : MPI_UNDEFINED, check.rank, &four);
  if (four == MPI_COMM_NULL) return;
  const std::array<int, 2> lengths{2, 2};
  const std::array<int, 2> periodic{1, 1};
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Cart_create(four, 2, lengths.data(), periodic.data(), 0, &grid);
  std::vector<double> out(4 * kMany);
  std::vector<double> in(4 * kMany);
  for (int side = 0; side < 4; ++side) std::fill_n(out.begin() + side * kMany, kMany, 10.0 * check.rank + side);
  MPI_Neighbor_alltoall(out.data(), kMany, MPI_DOUBLE, in.data(), kMany, MPI_DOUBLE, grid);
  for (int side = 0; side < 4; ++side) {
    std::array<int, 2> peers{};
    MPI_Cart_shift(grid, side / 2, 1, &peers[0], &peers[1]);
    const double expected = 10.0 * peers.at(static_cast<std::size_t>(side % 2)) + (side ^ 1);
    check.expect(in[static_cast<std::size_t>(side) * kMany] == expected, "MPI_Neighbor_alltoall");
  }
  MPI_Comm_free(&grid);
  MPI_Comm_free(&four);
}

void wait_for_some_that_persist(Checks& check) {
  const int after = (check.rank + 1) % check.size;
  const int before = (check.rank + check.size - 1) % check.size;
  const std::vector<double> out = filled(check.rank);
  std::vector<double> in(kMany);
  std::array<MPI_Request, 4> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Recv_init(in.data(), kMany, MPI_DOUBLE, before, kTag, check.comm, &requests[0]);
  MPI_Recv_init(in.data(), kMany, MPI_DOUBLE, before, kTag + 1, check.comm, &requests[1]);  // never started
  MPI_Send_init(out.data(), kMany, MPI_DOUBLE, after, kTag, check.comm, &requests[3]);
  MPI_Start(&requests[0]);
  MPI_Start(&requests[3]);
  std::array<bool, 4> seen{};
  for (int turn = 0; turn < 2; ++turn) {
    int index = MPI_UNDEFINED;
    MPI_Status status{};
    MPI_Waitany(4, requests.data(), &index, &status);
    check.expect(index == 0 || index == 3, "MPI_Waitany");
    if (index == 0 || index == 3) seen.at(static_cast<std::size_t>(index)) = true;
    int count = 0;
    if (index == 0) MPI_Get_count(&status, MPI_DOUBLE, &count);
    if (index == 0) check.expect(status.MPI_SOURCE == before && count == kMany, "the status of MPI_Waitany");
  }
  check.expect(seen[0] && seen[3] && in.front() == before && in.back() == before + kMany - 1,
               "what MPI_Waitany waits for");
  int done = 0;
  std::array<int, 4> indices{};
  MPI_Waitsome(4, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
  check.expect(done == MPI_UNDEFINED, "MPI_Waitsome without an active request");
  MPI_Startall(1, &requests[0]);
  MPI_Start(&requests[3]);
  for (int flag = 0; flag == 0;) MPI_Testall(4, requests.data(), &flag, MPI_STATUSES_IGNORE);
  int flag = 0;
  MPI_Testany(4, requests.data(), &done, &flag, MPI_STATUS_IGNORE);
  check.expect(flag == 1 && done == MPI_UNDEFINED, "MPI_Testany without an active request");
  for (const std::size_t i : {0, 1, 3}) MPI_Request_free(&requests.at(i));
}

void send_and_receive(Checks& check) {
  const int after = check.rank + 1 < check.size ? check.rank + 1 : MPI_PROC_NULL;
  const int before = check.rank > 0 ? check.rank - 1 : MPI_PROC_NULL;
  const std::vector<double> out = filled(check.rank);
  std::vector<double> in(kMany, -1.0);
  MPI_Status status{};
  MPI_Sendrecv(out.data(), kMany, MPI_DOUBLE, after, kTag, in.data(), kMany, MPI_DOUBLE, before, MPI_ANY_TAG,
               check.comm, &status);
  check.expect(status.MPI_SOURCE == before && in.front() == (before < 0 ? -1.0 : before), "MPI_Sendrecv");
  in = out;
  MPI_Sendrecv_replace(in.data(), kMany, MPI_DOUBLE, after, kTag, before, kTag, check.comm, &status);
  check.expect(in.back() == (before < 0 ? check.rank : before) + kMany - 1.0, "MPI_Sendrecv_replace");
  MPI_Sendrecv(nullptr, 0, MPI_DOUBLE, after, kTag, nullptr, 0, MPI_DOUBLE, before, kTag, check.comm,
               MPI_STATUS_IGNORE);
}

// The message is longer than its buffer.
void truncate(Checks& check) {
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(check.comm, &own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  const std::vector<double> out = filled(0);
  std::vector<double> in(kMany);
  std::array<MPI_Request, 2> requests{};
  std::array<MPI_Status, 2> statuses{};
  MPI_Irecv(in.data(), 10, MPI_DOUBLE, (check.rank + 1) % check.size, kTag, own, &requests[0]);
  MPI_Isend(out.data(), 20, MPI_DOUBLE, (check.rank + check.size - 1) % check.size, kTag, own, &requests[1]);
  const int code = MPI_Waitall(2, requests.data(), statuses.data());
  int error_class = MPI_SUCCESS;
  MPI_Error_class(statuses[0].MPI_ERROR, &error_class);
  check.expect(code == MPI_ERR_IN_STATUS && error_class == MPI_ERR_TRUNCATE, "the error of MPI_Waitall");
  MPI_Comm_free(&own);
}

void spread(Checks& check) {
  std::vector<double> numbers = check.rank == 2 ? filled(7) : std::vector<double>(kMany);
  MPI_Datatype whole = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(kMany, MPI_DOUBLE, &whole);
  MPI_Type_commit(&whole);
  MPI_Bcast(numbers.data(), check.rank == 2 ? 1 : kMany, check.rank == 2 ? whole : MPI_DOUBLE, 2, check.comm);
  check.expect(numbers == filled(7), "MPI_Bcast");
  MPI_Type_free(&whole);
  std::vector<double> all(static_cast<std::size_t>(check.size) * 1000, check.rank);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 1000, MPI_DOUBLE, check.comm);
  for (int rank = 0; rank < check.size; ++rank)
    check.expect(all[static_cast<std::size_t>(rank) * 1000 + 999] == rank, "MPI_Allgather");
  std::vector<double> sum(kMany);
  MPI_Allreduce(filled(check.rank).data(), sum.data(), kMany, MPI_DOUBLE, MPI_SUM, check.comm);
  check.expect(sum[5] == 10.0 + 5.0 * check.size, "MPI_Allreduce");
  MPI_Reduce(check.rank == 1 ? MPI_IN_PLACE : sum.data(), check.rank == 1 ? sum.data() : nullptr, kMany, MPI_DOUBLE,
             MPI_MAX, 1, check.comm);
  check.expect(sum[5] == 10.0 + 5.0 * check.size, "MPI_Reduce");
}

// One side is made of MPI_COMM_SELF: for one rank, the merged communicator does not come from the session's.
void merge_two_sides(Checks& check) {
  MPI_Comm workers = MPI_COMM_NULL;
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Comm merged = MPI_COMM_NULL;
  MPI_Comm_split(check.comm, check.rank == 0 ? 0 : 1, check.rank, &workers);
  MPI_Intercomm_create(check.rank == 0 ? MPI_COMM_SELF : workers, 0, check.comm, check.rank == 0 ? 1 : 0, kTag,
                       &between);
  MPI_Intercomm_merge(between, check.rank == 0 ? 0 : 1, &merged);
  std::vector<double> numbers = check.rank == 0 ? filled(3) : std::vector<double>(kMany);
  MPI_Bcast(numbers.data(), kMany, MPI_DOUBLE, 0, merged);
  check.expect(numbers == filled(3), "MPI_Bcast on a merged communicator");
  MPI_Comm_free(&merged);
  MPI_Comm_free(&between);
  MPI_Comm_free(&workers);
}

void compute(cairn::Session& session, const Options& options) {
  session.restore();
  std::printf("guarded: starts at step 0\n");
  std::fflush(stdout);
  Checks check(session.comm());
  for (const auto& play :
       {exchange_in_a_grid, wait_for_some_that_persist, send_and_receive, truncate, spread, merge_two_sides})
    play(check);
  std::fflush(stdout);
  int wrong = 0;
  MPI_Allreduce(&check.wrong, &wrong, 1, MPI_INT, MPI_SUM, session.comm());
  if (session.rank() == 0) std::ofstream(options.output) << wrong << "\n";
}

}  // namespace

int main(int argc, char** argv) { return lost::run(argc, argv, compute); }
