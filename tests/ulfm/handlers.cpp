// A small application for the tests beside this file that sets error handlers, as programs do that expect no failure:
//
//   handlers fatal|return|abort|put-back|own --steps N --config FILE --output FILE --pause-ms N
//
// Each life sets them on session.comm(), on what it makes of that, on MPI_COMM_WORLD and on MPI_COMM_SELF. "put-back"
// sets what it gets there, and "own" a handler that notes errors. No rank looks at what MPI calls return. Rank 1 dies
// in one step and rank 2 in a later one, when the others wait. Rank 0 writes the sum of all messages.
#include <fcntl.h>
#include <mpi.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include <cairn/cairn.hpp>

#include "options.hpp"

namespace {

// Once in all lives of the job.
void die_once(const std::string& where) {
  const int file = open(("died." + where).c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (file < 0) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::raise(SIGKILL);
}

// What nobody who has set such handlers expects.
void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("handlers: %s\n", what);
  std::fflush(stdout);
  std::_Exit(EXIT_FAILURE);
}

// Errors that the handler of its own was told.
int& errors() {
  static int number = 0;
  return number;
}
void note(MPI_Comm* /*comm*/, int* /*code*/, ...) { ++errors(); }

MPI_Errhandler handler_of(const std::string& what) {
  if (what == "fatal") return MPI_ERRORS_ARE_FATAL;
  if (what == "return") return MPI_ERRORS_RETURN;
  if (what == "abort") return MPI_ERRORS_ABORT;
  static const MPI_Errhandler own = [] {
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(&note, &made);
    return made;
  }();
  return own;
}

void set(MPI_Comm comm, const std::string& what) {
  MPI_Errhandler there = MPI_ERRHANDLER_NULL;
  if (what == "put-back") {
    MPI_Comm_get_errhandler(comm, &there);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, there);
    expect(there == MPI_ERRORS_ARE_FATAL, "the handler of a program that sets none is another one");
  } else {
    MPI_Comm_set_errhandler(comm, handler_of(what));
    MPI_Comm_get_errhandler(comm, &there);
    expect(there == handler_of(what), "the handler is another one than was set");
  }
  MPI_Errhandler_free(&there);
}

class Application {
 public:
  Application(cairn::Session& session, const Options& options)
      : session_(session), options_(options), comm_(session.comm()), rank_(static_cast<int>(session.rank())) {
    MPI_Comm_size(comm_, &size_);
  }

  void run() {
    for (const MPI_Comm comm : {comm_, MPI_COMM_WORLD, MPI_COMM_SELF}) set(comm, options_.what);
    const std::array<int, 1> lengths{size_};
    const std::array<int, 1> periodic{1};
    MPI_Comm_dup(comm_, &all_);
    MPI_Cart_create(comm_, 1, lengths.data(), periodic.data(), 0, &ring_);
    MPI_Errhandler there = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(ring_, &there);
    // With rollback = lost, a replacement gets what survivors have made again for it, without handlers.
    expect(options_.what == "put-back" || there == handler_of(options_.what) ||
               session_.state() == cairn::State::replacement,
           "a ring has not got the handler");
    MPI_Errhandler_free(&there);
    set(all_, options_.what);
    session_.protect("step", step_);
    session_.protect("sum", sum_);
    session_.restore();
    if (options_.what == "own") make_a_mistake();
    while (step_ < options_.steps) {
      ++step_;
      take_step();
      session_.snapshot();
    }
    expect(errors() == (options_.what == "own" ? 1 : 0), "a failure is told, or an error is not");
    if (rank_ == 0) std::ofstream(options_.output) << sum_ << "\n";
  }

 private:
  // Told to the handler: once in each life.
  void make_a_mistake() {
    errors() = 0;
    MPI_Send(nullptr, 0, MPI_BYTE, rank_, -7, all_);
  }

  void take_step() {
    if (rank_ == 1 && step_ == options_.steps / 3) die_once("1");
    if (rank_ == 2 && step_ == 2 * options_.steps / 3) die_once("2");
    std::int64_t value = step_ * rank_;
    std::int64_t left = 0;
    MPI_Sendrecv(&value, 1, MPI_INT64_T, (rank_ + 1) % size_, 1, &left, 1, MPI_INT64_T, (rank_ + size_ - 1) % size_, 1,
                 ring_, MPI_STATUS_IGNORE);
    std::int64_t all = 0;
    MPI_Allreduce(&left, &all, 1, MPI_INT64_T, MPI_SUM, all_);
    MPI_Barrier(comm_);
    sum_ += all;
  }

  cairn::Session& session_;
  const Options& options_;
  MPI_Comm comm_;
  MPI_Comm all_ = MPI_COMM_NULL;
  MPI_Comm ring_ = MPI_COMM_NULL;
  int rank_;
  int size_ = 0;
  std::int64_t step_ = 0;
  std::int64_t sum_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  MPI_Init(&argc, &argv);
  const int code =
      cairn::run(MPI_COMM_WORLD, options.config, [&](cairn::Session& session) { Application(session, options).run(); });
  MPI_Finalize();
  return code;
}
