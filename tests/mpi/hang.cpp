// A job that hangs, in the way that its second argument names, on the communicator of its session, or that only looks
// as if it did: for hang.py, which asks ckpt-tool what it says of each, and ends it.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

#include <cairn/cairn.hpp>

namespace {

struct Job {
  cairn::Session* session = nullptr;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int last = 0;
};

void send(const Job& job, int to, int tag) { MPI_Send(&tag, 1, MPI_INT, to, tag, job.comm); }
void send_and_wait(const Job& job, int to, int tag) { MPI_Ssend(&tag, 1, MPI_INT, to, tag, job.comm); }
void receive(const Job& job, int from, int tag) {
  int got = 0;
  MPI_Recv(&got, 1, MPI_INT, from, tag, job.comm, MPI_STATUS_IGNORE);
}
void sum(const Job& job) {
  int mine = 1;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, job.comm);
}

// With both neighbours in a circle, by one call or by several. Both tags are greater than `tag`.
void pass_on(const Job& job, bool in_one_call, int tag = 0) {
  const int right = job.rank == job.last ? 0 : job.rank + 1;
  const int left = job.rank == 0 ? job.last : job.rank - 1;
  int mine = job.rank;
  int got = 0;
  if (in_one_call) {
    MPI_Sendrecv(&mine, 1, MPI_INT, right, tag + 1, &got, 1, MPI_INT, left, tag + 1, job.comm, MPI_STATUS_IGNORE);
    return;
  }
  int got_too = 0;
  MPI_Request requests[4];
  MPI_Irecv(&got, 1, MPI_INT, left, tag + 1, job.comm, &requests[0]);
  MPI_Irecv(&got_too, 1, MPI_INT, right, tag + 2, job.comm, &requests[1]);
  MPI_Isend(&mine, 1, MPI_INT, right, tag + 1, job.comm, &requests[2]);
  MPI_Isend(&mine, 1, MPI_INT, left, tag + 2, job.comm, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

// Outside MPI, and for ever.
void compute(const Job& /*job*/) {
  std::atomic<bool> done = false;
  while (!done) {
  }
}

// Rank 0 probes for a message from rank 1, which sends none.
void probe_in_vain(const Job& job) {
  int found = 0;
  while (job.rank == 0 && found == 0) MPI_Iprobe(1, 7, job.comm, &found, MPI_STATUS_IGNORE);
  sum(job);
}

// The last rank begins a collective and computes. Its MPI library goes on with it only in calls.
void compute_in_a_collective(const Job& job) {
  int mine = 1;
  int all = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_SUM, job.comm, &request);
  if (job.rank == job.last) compute(job);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  sum(job);
}

void exchange(const Job& job) {
  for (;;) {
    pass_on(job, true);
    sum(job);
  }
}

// Rank 2 computes longer than the others, some rounds later than its file keeps calls. Its neighbours have exchanged
// all that they can with theirs, who have gone on.
void come_late(const Job& job, bool in_one_call) {
  constexpr int kRounds = 2000;
  for (int i = 0; i < kRounds; ++i) pass_on(job, in_one_call);
  if (job.rank == 2) compute(job);
  pass_on(job, in_one_call);
  sum(job);
}
void come_late_to_a_call(const Job& job) { come_late(job, true); }
void come_late_to_requests(const Job& job) { come_late(job, false); }

// The same with tags of its own for each step, of which there are more than a rank can count messages of.
void come_late_with_many_tags(const Job& job, bool in_one_call) {
  constexpr int kSteps = 1500;
  for (int step = 0; step < kSteps; ++step) pass_on(job, in_one_call, 2 * step);
  if (job.rank == 2) compute(job);
  pass_on(job, in_one_call, 2 * kSteps);
  sum(job);
}
void come_late_with_many_tags_to_a_call(const Job& job) { come_late_with_many_tags(job, true); }
void come_late_with_many_tags_to_requests(const Job& job) { come_late_with_many_tags(job, false); }

// And a job that is well.
void exchange_with_many_tags(const Job& job) {
  constexpr int kTags = 20'000;
  for (int step = 0;; ++step) {
    pass_on(job, false, 2 * (step % kTags));
    sum(job);
  }
}

// Rank 2 does not send what rank 1 waits for.
void miss_a_message(const Job& job) {
  if (job.rank == 1) receive(job, 2, 7);
  sum(job);
}

void miss_a_receive(const Job& job) {
  if (job.rank == 1) send_and_wait(job, 0, 7);
  sum(job);
}

void swap_tags(const Job& job) {
  if (job.rank == 0) receive(job, 1, 7);
  if (job.rank == 1) send_and_wait(job, 0, 8);
  sum(job);
}

// Both have sent when they wait: a message this short needs no receive.
void swap_tags_of_sent_messages(const Job& job) {
  if (job.rank < 2) {
    send(job, 1 - job.rank, 8);
    receive(job, 1 - job.rank, 7);
  }
  sum(job);
}

// The last rank is in another collective, on another communicator.
void leave_a_collective_out(const Job& job) {
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(job.comm, &other);
  MPI_Comm_set_name(other, "halo");
  if (job.rank == job.last) MPI_Barrier(other);
  sum(job);
}

void differ_in_the_root(const Job& job) {
  int mine = 1;
  int all = 0;
  MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, job.rank == job.last ? job.last : 0, job.comm);
  sum(job);
}

void send_in_a_circle(const Job& job) { send_and_wait(job, job.rank == job.last ? 0 : job.rank + 1, 5); }

void loop(const Job& job) {
  if (job.rank == job.last) compute(job);
  receive(job, job.last, 7);
}

// Rank 0 means its first receive for the message of rank 1, which comes later.
void steal_a_message(const Job& job) {
  if (job.rank == 2) send(job, 0, 7);
  if (job.rank == 1) {
    receive(job, 0, 9);
    send(job, 0, 7);
  }
  if (job.rank == 0) {
    receive(job, MPI_ANY_SOURCE, 7);
    send(job, 1, 9);
    receive(job, 2, 7);
  }
  sum(job);
}

// Rank 0 has begun the receive of the next round too, and waits for that one.
void wait_for_the_wrong_request(const Job& job) {
  if (job.rank == 1) send(job, 0, 1);
  if (job.rank == 0) {
    int this_round = 0;
    int next_round = 0;
    MPI_Request one = MPI_REQUEST_NULL;
    MPI_Request other = MPI_REQUEST_NULL;
    MPI_Irecv(&this_round, 1, MPI_INT, 1, 1, job.comm, &one);
    MPI_Irecv(&next_round, 1, MPI_INT, 2, 2, job.comm, &other);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
  }
  sum(job);
}

// Rank 2, or $MUTE_RANK, goes mute amid an all-to-all program: it computes, until the process gets SIGUSR1 and goes on.
std::atomic<bool> computes = true;
void exchange_but_one(const Job& job) {
  std::signal(SIGUSR1, [](int /*signal*/) { computes = false; });
  const char* const chosen = std::getenv("MUTE_RANK");
  const int mute = chosen == nullptr ? 2 : std::atoi(chosen);
  std::vector<int> mine(static_cast<std::size_t>(job.last) + 1);
  std::vector<int> got(mine.size());
  for (int round = 0;; ++round) {
    while (job.rank == mute && round == 100 && computes) {
    }
    MPI_Alltoall(mine.data(), 1, MPI_INT, got.data(), 1, MPI_INT, job.comm);
  }
}

// The same, but it sleeps.
void sleep_in_an_exchange(const Job& job) {
  sum(job);
  if (job.rank == 2) pause();
  sum(job);
}

// All ranks compute for longer than one may be waited for.
void compute_at_the_same_time(const Job& job) {
  job.session->restore();
  for (;;) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(8);
    while (std::chrono::steady_clock::now() < end) {
    }
    sum(job);
  }
}

// Sessions are open still, and rank 2 does not come.
void miss_the_end(const Job& job) {
  sum(job);  // as in end_too_early()
  if (job.rank == 2) compute(job);
  MPI_Finalize();
}

// Rank 2 waits for one who is there.
void end_too_early(const Job& job) {
  sum(job);  // a rank whose session is not open yet would be told of it
  if (job.rank == 2) receive(job, 0, 7);
  MPI_Finalize();
}

// More than slots are for, so that ranks wait for the head, and it for all of them.
void take_snapshots(const Job& job) {
  double state = 1;
  job.session->protect("state", state);
  job.session->restore();
  for (;;) {
    job.session->snapshot(cairn::LevelId::local);
    sum(job);
  }
}

// Each is larger than the one before, up to 64 MiB.
void take_growing_snapshots(const Job& job) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  std::vector<char> state;
  job.session->protect("state", state);
  job.session->restore();
  for (;;) {
    if (state.size() < 64 * kMiB) state.resize(state.size() + kMiB);
    job.session->snapshot(cairn::LevelId::local);
    sum(job);
  }
}

// 8 MiB of each rank, again and again, to the partner node.
void send_snapshots_to_partners(const Job& job) {
  std::vector<char> state(std::size_t{8} << 20, 'x');
  job.session->protect("state", state);
  job.session->restore();
  for (;;) {
    job.session->snapshot(cairn::LevelId::partner);
    job.session->wait(cairn::LevelId::partner);
    sum(job);
  }
}

// The first snapshot goes to the partner node, the others where they are due. Rank 0 prints which one was restored, and
// each that the partner node has.
void snapshot_when_due(const Job& job) {
  double state = 1;
  job.session->protect("state", state);
  std::uint32_t partner_has = job.session->restore().version;
  const auto print = [&](const char* what) {
    if (job.rank == 0) std::printf("%s %u\n", what, partner_has), std::fflush(stdout);
  };
  print("restored");
  if (partner_has == 0) job.session->snapshot(cairn::LevelId::partner);
  for (;;) {
    job.session->snapshot();
    if (const auto safe = job.session->safe_version(cairn::LevelId::partner); safe > partner_has) {
      partner_has = safe;
      print("partner");
    }
    sum(job);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Rank 2 takes more and more memory once it gets SIGUSR1, until the kernel ends it.
std::atomic<bool> hungry = false;
void take_memory(const Job& job) {
  std::signal(SIGUSR1, [](int /*signal*/) { hungry = true; });
  std::vector<std::vector<char>> taken;
  for (;;) {
    if (job.rank == 2 && hungry) taken.emplace_back(std::size_t{16} << 20, 'x');
    sum(job);
  }
}

void leave_a_snapshot_out(const Job& job) {
  double state = 1;
  job.session->protect("state", state);
  job.session->restore();
  if (job.rank == 2) compute(job);
  for (;;) job.session->snapshot(cairn::LevelId::local);
}

void leave_a_restore_out(const Job& job) {
  double state = 1;
  job.session->protect("state", state);
  if (job.rank != 2) job.session->restore();
  sum(job);
}

void leave_a_close_out(const Job& job) {
  double state = 1;
  job.session->protect("state", state);
  job.session->restore();
  job.session->snapshot(cairn::LevelId::local);
  job.session->wait(cairn::LevelId::local);
  auto open = job.session->open_snapshot();
  if (job.rank != 2) open.close();
  sum(job);
}

// A call that Cairn does not analyse.
void leave_a_fence_out(const Job& job) {
  double* base = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate_shared(sizeof(double), 1, MPI_INFO_NULL, job.comm, &base, &window);
  if (job.rank == job.last) compute(job);
  MPI_Win_fence(0, window);
}

const std::map<std::string, void (*)(const Job&)> kKinds{
    {"fence", leave_a_fence_out},
    {"snapshots", take_snapshots},
    {"growing_snapshots", take_growing_snapshots},
    {"partner_snapshots", send_snapshots_to_partners},
    {"snapshots_when_due", snapshot_when_due},
    {"hungry", take_memory},
    {"missed_snapshot", leave_a_snapshot_out},
    {"missed_restore", leave_a_restore_out},
    {"missed_close", leave_a_close_out},
    {"compute", compute},
    {"exchange", exchange},
    {"mute", exchange_but_one},
    {"asleep", sleep_in_an_exchange},
    {"computes_at_the_same_time", compute_at_the_same_time},
    {"probe", probe_in_vain},
    {"begun_collective", compute_in_a_collective},
    {"missed_message", miss_a_message},
    {"missed_receive", miss_a_receive},
    {"swapped_tags", swap_tags},
    {"swapped_tags_of_sent_messages", swap_tags_of_sent_messages},
    {"left_out_collective", leave_a_collective_out},
    {"other_root", differ_in_the_root},
    {"circle_of_sends", send_in_a_circle},
    {"loop", loop},
    {"stolen_message", steal_a_message},
    {"wrong_request", wait_for_the_wrong_request},
    {"late_call", come_late_to_a_call},
    {"late_requests", come_late_to_requests},
    {"late_call_many_tags", come_late_with_many_tags_to_a_call},
    {"late_requests_many_tags", come_late_with_many_tags_to_requests},
    {"exchange_many_tags", exchange_with_many_tags},
    {"missed_end", miss_the_end},
    {"early_end", end_too_early},
};

void play(cairn::Session& session, const std::string& kind) {
  Job job{&session, session.comm()};
  MPI_Comm_rank(job.comm, &job.rank);
  MPI_Comm_size(job.comm, &job.last);
  --job.last;
  kKinds.at(kind)(job);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3 || !kKinds.contains(argv[2])) return 2;
  {
    const std::unique_ptr<cairn::Session> session = cairn::Session::open(MPI_COMM_WORLD, argv[1]);
    if (session) play(*session, argv[2]);
  }
  MPI_Finalize();
  return 0;
}
