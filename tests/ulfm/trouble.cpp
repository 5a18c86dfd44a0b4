// A small application for the tests beside this file, which gets into the trouble that it is told to:
//
//   trouble CASE --steps N --config FILE --output FILE --pause-ms N
//
// Its state is a number that grows by rank and step; rank 0 writes the sum over all ranks at the end. A case says what
// ranks wait for, or what rank 1 does to itself; "once" is once in the directory that the job runs in.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <mpi.h>
#include <unistd.h>

#include <cairn/cairn.hpp>

#include "options.hpp"

namespace {

constexpr int kTag = 1;
constexpr std::int64_t kFewSteps = 3;

// True for the first who asks, in all lives of the job.
bool is_first_time() {
  if (std::ifstream("trouble.happened")) return false;
  std::ofstream("trouble.happened") << "yes\n";
  return true;
}

// Rank 2 has news for rank 1, and rank 1 for rank 0, which thus waits for one that lives when rank 2 dies.
void pass_news(const cairn::Session& session, MPI_Comm from_2, MPI_Comm to_0) {
  std::int64_t news = 1;
  if (session.rank() == 2) MPI_Send(&news, 1, MPI_INT64_T, 1, kTag, from_2);
  if (session.rank() == 1) {
    MPI_Recv(&news, 1, MPI_INT64_T, 2, kTag, from_2, MPI_STATUS_IGNORE);
    MPI_Send(&news, 1, MPI_INT64_T, 0, kTag, to_0);
  }
  if (session.rank() == 0) MPI_Recv(&news, 1, MPI_INT64_T, 1, kTag, to_0, MPI_STATUS_IGNORE);
}

// Rank 1 dies and is replaced; after that a survivor, or the one that came for it, leaves.
void leave_later(const std::string& trouble, const cairn::Session& session, std::int64_t step) {
  if (session.rank() == 1 && step == 10 && is_first_time()) std::raise(SIGKILL);
  const auto state = session.state();
  if (step != 40 || state == cairn::State::fresh) return;
  if (session.rank() != (state == cairn::State::survivor ? 0 : 1)) return;
  const bool is_survivor = state == cairn::State::survivor;
  if (is_survivor != trouble.starts_with("survivor")) return;
  if (trouble.ends_with("exits")) std::exit(3);
  throw std::runtime_error("it is of no use");
}

// Of the three processes that compute first. It is older than all that recovery has, and Open MPI gave it a lower
// number.
MPI_Comm communicator_of_ranks(int rank_in_world) {
  MPI_Comm ranks = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank_in_world < 3 ? 0 : 1, rank_in_world, &ranks);
  MPI_Comm_set_errhandler(ranks, MPI_ERRORS_RETURN);
  return ranks;
}

// Rank 1 dies while the others make a communicator with it.
void duplicate(cairn::Session& session, MPI_Comm oldest) {
  session.watch(oldest);
  if (session.rank() == 1) std::raise(SIGKILL);
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(oldest, &made);
}

// Rank 1 dies, and another rank computes with what it never got.
void compute_with_rubbish(const cairn::Session& session, std::int64_t step) {
  if (step != 20 || session.state() != cairn::State::fresh) return;
  if (session.rank() == 1) std::raise(SIGKILL);
  if (session.rank() == 2) throw std::runtime_error("this is rubbish");
}

void get_into_trouble(const std::string& trouble, cairn::Session& session, MPI_Comm oldest, std::int64_t step) {
  if (trouble == "duplicates" && step == 20 && session.state() == cairn::State::fresh) duplicate(session, oldest);
  if (trouble.ends_with("-exits") || trouble.ends_with("-throws")) leave_later(trouble, session, step);
  if (trouble == "rubbish") compute_with_rubbish(session, step);
  if (trouble == "finalize" && step == 20) MPI_Finalize();
  if (session.rank() != 1) return;
  if (trouble == "exit" && step == 20) std::exit(3);
  if (trouble == "vanish" && step == 20) _exit(3);
  if (trouble == "crash" && step == 30) std::raise(SIGKILL);
}

// One that is watched may be freed also when the application is left because a process has died.
class Ring {
 public:
  Ring(MPI_Comm comm, int size) {
    const int periodic = 1;
    MPI_Cart_create(comm, 1, &size, &periodic, 0, &comm_);
  }
  ~Ring() {
    if (watched_ || std::uncaught_exceptions() == 0) MPI_Comm_free(&comm_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  void watch(cairn::Session& session) {
    session.watch(comm_);
    watched_ = true;
  }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }

 private:
  bool watched_ = false;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// Once news of all have come, so that a test that waits for this kills nobody while MPI makes the ring: a survivor
// whose partner dies there is ended by Open MPI 5.0.
void say_where(std::int64_t step) {
  if (step == 0) std::printf("trouble: starts at step 0\n");
  if (step > 0) std::printf("trouble: continues at step %lld:\n", static_cast<long long>(step));
  std::fflush(stdout);
}

void compute(cairn::Session& session, const Options& options, MPI_Comm oldest) {
  std::int64_t step = 0;
  std::int64_t value = 0;
  session.protect("step", step);
  session.protect("value", value);
  session.restore();
  Ring ring(session.comm(), static_cast<int>(session.size()));
  const bool derived = options.what == "ring" || options.what == "watched" || options.what == "straggler";
  MPI_Comm to_0 = derived ? ring.comm() : session.comm();
  if (options.what == "watched") ring.watch(session);
  bool enters = true;
  while (step < options.steps && !session.should_stop()) {
    pass_news(session, options.what == "ring" ? to_0 : session.comm(), to_0);
    if (session.rank() == 0 && std::exchange(enters, false)) say_where(step);
    get_into_trouble(options.what, session, oldest, step);
    ++step;
    value += step * (session.rank() + 1);
    session.snapshot();
    if (session.rank() == 0 && step == kFewSteps) {
      std::printf("trouble: has taken some steps\n");
      std::fflush(stdout);
    }
    if (session.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(options.pause_ms));
  }
  std::int64_t sum = 0;
  MPI_Reduce(&value, &sum, 1, MPI_INT64_T, MPI_SUM, 0, session.comm());
  if (session.rank() == 0) std::ofstream(options.output) << sum << "\n";
}

// An application of several programs, one of which starts the others.
int spawn(char** argv) {
  constexpr int kChildren = 4;
  MPI_Comm children = MPI_COMM_NULL;
  MPI_Comm_spawn(argv[0], argv + 1, kChildren, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
  MPI_Barrier(children);
  MPI_Comm_disconnect(&children);
  MPI_Finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const char* const text = std::getenv("OMPI_COMM_WORLD_RANK");
  const int rank = text == nullptr ? 0 : std::atoi(text);
  if (options.what == "dies-before-init" && rank == 1 && is_first_time()) std::raise(SIGKILL);
  const bool is_newcomer = std::getenv("CAIRNPOOL") != nullptr;
  if (options.what == "newcomer-dies" && is_newcomer && rank == 1) std::raise(SIGKILL);
  MPI_Init(&argc, &argv);
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm_get_parent(&parent);
  if (options.what == "spawn" && parent == MPI_COMM_NULL) return spawn(argv);
  if (options.what == "dies-before-open" && rank == 1 && is_first_time()) std::raise(SIGKILL);
  if (options.what == "dies-while-opening" && rank == 1 && is_first_time())
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(15));
      std::raise(SIGKILL);
    }).detach();
  const MPI_Comm oldest = options.what == "duplicates" ? communicator_of_ranks(rank) : MPI_COMM_NULL;
  const int code =
      cairn::run(MPI_COMM_WORLD, options.config, [&](cairn::Session& session) { compute(session, options, oldest); });
  if (parent != MPI_COMM_NULL && options.what == "spawn") {
    MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
  }
  MPI_Finalize();
  return code;
}
