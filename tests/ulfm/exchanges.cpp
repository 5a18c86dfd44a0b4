// An application that is nearly always amid messages of many fragments, into memory that it frees when it rolls back:
//
//   exchanges HOW --steps N --config FILE --output FILE --pause-ms N
//
// HOW: all (MPI_Waitall), any (MPI_Waitany, persistent), blocking (MPI_Send), sendrecv, replace (MPI_Sendrecv_replace),
// collective, unlogged (what is not replayed with rollback = lost, and MPI_Waitall). Its ranks form a ring; each passes
// to both neighbours what it computes from what they sent. Rank 0 writes one number that depends on all messages.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <mpi.h>

#include <cairn/cairn.hpp>

#include "lost_program.hpp"
#include "options.hpp"

namespace {

constexpr int kNumbers = 1 << 19;  // 4 MiB
constexpr int kOnward = 1;
constexpr int kBack = 2;

class Ring {
 public:
  explicit Ring(const cairn::Session& session)
      : comm_(session.comm()),
        after_(static_cast<int>((session.rank() + 1) % session.size())),
        before_(static_cast<int>((session.rank() + session.size() - 1) % session.size())) {}

  // Returns a number that depends on all that was received.
  std::uint64_t pass(const std::string& how, std::uint64_t start) {
    for (std::uint64_t& number : onward_) number = start += 0x9e3779b97f4a7c15U;
    back_ = onward_;
    if (how == "unlogged") meet();
    if (how == "all" || how == "unlogged") wait_for_all();
    if (how == "any") wait_for_each();
    if (how == "blocking") send_in_turns();
    if (how == "sendrecv") send_and_receive();
    if (how == "replace") replace();
    if (how == "collective") reduce_and_spread();
    std::uint64_t sum = 0;
    for (int i = 0; i < kNumbers; ++i) sum = (sum ^ from_before_[i]) * 0x100000001b3U + from_after_[i];
    return sum;
  }

 private:
  void meet() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(comm_, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  void wait_for_all() {
    std::array<MPI_Request, 4> requests{};
    MPI_Irecv(from_before_.data(), kNumbers, MPI_UINT64_T, before_, kOnward, comm_, &requests[0]);
    MPI_Irecv(from_after_.data(), kNumbers, MPI_UINT64_T, after_, kBack, comm_, &requests[1]);
    MPI_Isend(onward_.data(), kNumbers, MPI_UINT64_T, after_, kOnward, comm_, &requests[2]);
    MPI_Isend(back_.data(), kNumbers, MPI_UINT64_T, before_, kBack, comm_, &requests[3]);
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
  }
  void wait_for_each() {
    std::array<MPI_Request, 4> requests{};
    MPI_Recv_init(from_before_.data(), kNumbers, MPI_UINT64_T, before_, kOnward, comm_, &requests[0]);
    MPI_Recv_init(from_after_.data(), kNumbers, MPI_UINT64_T, after_, kBack, comm_, &requests[1]);
    MPI_Send_init(onward_.data(), kNumbers, MPI_UINT64_T, after_, kOnward, comm_, &requests[2]);
    MPI_Send_init(back_.data(), kNumbers, MPI_UINT64_T, before_, kBack, comm_, &requests[3]);
    MPI_Startall(4, requests.data());
    for (int i = 0; i < 4; ++i) {
      int index = MPI_UNDEFINED;
      MPI_Status status{};
      MPI_Waitany(4, requests.data(), &index, &status);
      const bool is_right = index != MPI_UNDEFINED && (index != 0 || status.MPI_SOURCE == before_);
      if (!is_right) MPI_Abort(comm_, EXIT_FAILURE);
      MPI_Request_free(&requests[static_cast<std::size_t>(index)]);
    }
  }
  void send_in_turns() {
    if (before_ > after_)
      MPI_Recv(from_before_.data(), kNumbers, MPI_UINT64_T, before_, kOnward, comm_, MPI_STATUS_IGNORE);
    MPI_Send(onward_.data(), kNumbers, MPI_UINT64_T, after_, kOnward, comm_);
    if (before_ < after_)
      MPI_Recv(from_before_.data(), kNumbers, MPI_UINT64_T, before_, kOnward, comm_, MPI_STATUS_IGNORE);
    MPI_Sendrecv(back_.data(), kNumbers, MPI_UINT64_T, before_, kBack, from_after_.data(), kNumbers, MPI_UINT64_T,
                 after_, kBack, comm_, MPI_STATUS_IGNORE);
  }
  void send_and_receive() {
    MPI_Sendrecv(onward_.data(), kNumbers, MPI_UINT64_T, after_, kOnward, from_before_.data(), kNumbers, MPI_UINT64_T,
                 before_, kOnward, comm_, MPI_STATUS_IGNORE);
    MPI_Sendrecv(back_.data(), kNumbers, MPI_UINT64_T, before_, kBack, from_after_.data(), kNumbers, MPI_UINT64_T,
                 after_, kBack, comm_, MPI_STATUS_IGNORE);
  }
  void replace() {
    MPI_Status status;
    from_before_ = onward_;
    from_after_ = back_;
    MPI_Sendrecv_replace(from_before_.data(), kNumbers, MPI_UINT64_T, after_, kOnward, before_, kOnward, comm_,
                         &status);
    if (status.MPI_SOURCE != before_) MPI_Abort(comm_, EXIT_FAILURE);
    MPI_Sendrecv_replace(from_after_.data(), kNumbers, MPI_UINT64_T, before_, kBack, after_, kBack, comm_, &status);
    if (status.MPI_TAG != kBack) MPI_Abort(comm_, EXIT_FAILURE);
  }

  void reduce_and_spread() {
    MPI_Allreduce(onward_.data(), from_before_.data(), kNumbers, MPI_UINT64_T, MPI_BXOR, comm_);
    from_after_ = back_;
    MPI_Bcast(from_after_.data(), kNumbers, MPI_UINT64_T, 1, comm_);
  }

  MPI_Comm comm_;
  int after_;
  int before_;
  std::vector<std::uint64_t> onward_ = std::vector<std::uint64_t>(kNumbers);
  std::vector<std::uint64_t> back_ = std::vector<std::uint64_t>(kNumbers);
  std::vector<std::uint64_t> from_before_ = std::vector<std::uint64_t>(kNumbers);
  std::vector<std::uint64_t> from_after_ = std::vector<std::uint64_t>(kNumbers);
};

void compute(cairn::Session& session, const Options& options) {
  std::int64_t step = 0;
  std::uint64_t number = session.rank();
  session.protect("step", step);
  session.protect("number", number);
  session.restore();
  Ring ring(session);
  if (session.rank() == 0)
    std::printf(step == 0 ? "exchanges: starts at step %lld\n" : "exchanges: continues at step %lld:\n",
                static_cast<long long>(step));
  std::fflush(stdout);
  for (; step < options.steps; session.snapshot()) {
    number = ring.pass(options.what, number);
    ++step;
  }
  std::uint64_t all = 0;
  MPI_Reduce(&number, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, session.comm());
  if (session.rank() == 0) std::ofstream(options.output) << all << "\n";
}

}  // namespace

int main(int argc, char** argv) { return lost::run(argc, argv, compute); }
