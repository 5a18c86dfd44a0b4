// A small application for the tests beside this file, with [recovery] rollback = lost, that does what a replacement
// cannot compute again alone, or what shows that it has computed something else:
//
//   lost_trouble CASE --steps N --config FILE --output FILE --pause-ms N
//
// CASE-replayed is a case that a replacement computes again.
//
// Each step is an exchange with both neighbours in a ring. The case is played once, in step 8, and rank 1 dies in step
// 9; snapshots are expected of steps that 3 divides. It dies once more in step 23, when that of step 21 is complete.
// The files died.1 and died.2 in the directory of the job say which of its deaths have happened. Rank 0 writes the
// values of all at the end.
#include <fcntl.h>
#include <mpi.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <cairn/cairn.hpp>

#include "not_replayed.hpp"
#include "options.hpp"

namespace {

using not_replayed::Ring;

constexpr std::int64_t kTrouble = 8;
constexpr std::int64_t kDeath = 9;
constexpr std::int64_t kDifference = 6;  // after that step; its messages have been received when rank 1 dies
constexpr std::int64_t kFirstError = 5;  // before the snapshot that rank 1 restores
constexpr std::int64_t kLaterError = 12;
constexpr std::int64_t kComplete = 21;
constexpr std::int64_t kLaterDeath = 23;

std::string mark_of(int death) { return "died." + std::to_string(death); }

// Once in all lives of the job.
void die_once(int which) {
  const int file = open(mark_of(which).c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (file >= 0) std::raise(SIGKILL);
}

// Errors that MPI has told the application of.
int& errors() {
  static int number = 0;
  return number;
}
void count_error(MPI_Comm* /*comm*/, int* /*code*/, ...) { ++errors(); }

// What a step makes of the values of a rank and its neighbours.
std::uint64_t combine(std::uint64_t own, const std::array<std::uint64_t, 2>& theirs, std::int64_t step) {
  return (own * 31 + theirs[0] * 7 + theirs[1]) ^ static_cast<std::uint64_t>(step);
}

// A rank that `polls` asks MPI again and again.
void complete_all(std::array<MPI_Request, 4>& requests, bool polls) {
  if (!polls) MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
  for (int done = polls ? 0 : 1; done == 0; std::this_thread::sleep_for(std::chrono::milliseconds(1)))
    MPI_Testall(4, requests.data(), &done, MPI_STATUSES_IGNORE);
}

template <class Between>
std::array<std::uint64_t, 2> exchange(const Ring& ring, const std::uint64_t& told, Between between,
                                      bool polls = false) {
  std::array<std::uint64_t, 2> theirs{};
  std::array requests{ring.begin_to_receive(theirs[0], ring.left, 1), ring.begin_to_receive(theirs[1], ring.right, 2),
                      ring.begin_to_send(told, 1), MPI_Request{MPI_REQUEST_NULL}};
  MPI_Isend(&told, 1, MPI_UINT64_T, ring.left, 2, ring.comm, &requests[3]);
  between();
  complete_all(requests, polls);
  return theirs;
}

std::array<std::uint64_t, 2> exchange(const Ring& ring, const std::uint64_t& told) {
  return exchange(ring, told, [] {});
}

class Application {
 public:
  Application(cairn::Session& session, const Options& options)
      : session_(session), options_(options), ring_(session.comm()), value_(session.rank()) {}

  void run() {
    if (options_.what.starts_with("early")) set_up();
    session_.protect("step", step_);
    session_.protect("value", value_);
    session_.protect("unused", unused_);
    if (is("waits")) session_.protect("large", large_);
    if (is("finishes-at-once") && session_.state() == cairn::State::replacement) return;
    session_.restore();
    if (is("tells-errors") && step_ >= kFirstError) MPI_Comm_dup(ring_.comm, &duplicate_);
    begin_after_restore();
    while (step_ < options_.steps) take_step();
    write();
  }

 private:
  [[nodiscard]] bool is(const char* trouble) const { return options_.what == trouble; }
  // A replacement in the step that it does otherwise than the rank whose place it takes.
  [[nodiscard]] bool differs(const char* trouble) const {
    return is(trouble) && step_ == kDifference && session_.catches_up();
  }

  // What a program often does before its loop, though the survivors have done it long ago.
  void begin_after_restore() {
    std::uint64_t sum = 0;
    std::vector<std::uint64_t> many(not_replayed::kMany);
    if (is("exchange-after-restore")) (void)exchange(ring_, value_);
    if (is("message-after-restore")) ring_.pass(9);
    if (is("barrier-after-restore") || is("barrier-after-restore-inline")) MPI_Barrier(ring_.comm);
    if (is("allreduce-after-restore")) MPI_Allreduce(&value_, &sum, 1, MPI_UINT64_T, MPI_SUM, ring_.comm);
    if (is("long-message-after-restore")) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Irecv(many.data(), not_replayed::kMany, MPI_UINT64_T, ring_.left, 9, ring_.comm, &request);
      const std::vector<std::uint64_t> mine(many.size(), 1);
      MPI_Send(mine.data(), not_replayed::kMany, MPI_UINT64_T, ring_.right, 9, ring_.comm);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (is("any-after-restore")) {
      const std::uint64_t word = 1;
      MPI_Request request = ring_.begin_to_send(word, 9);
      MPI_Recv(&sum, 1, MPI_UINT64_T, MPI_ANY_SOURCE, 9, ring_.comm, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (is("probe-after-restore")) {
      const std::uint64_t word = 1;
      MPI_Request request = ring_.begin_to_send(word, 9);
      MPI_Probe(ring_.left, 9, ring_.comm, MPI_STATUS_IGNORE);
      MPI_Recv(&sum, 1, MPI_UINT64_T, ring_.left, 9, ring_.comm, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (is("communicator-after-restore") && session_.catches_up()) MPI_Comm_dup(ring_.comm, &duplicate_);
  }

  // What a replacement does otherwise before restore() than the rank whose place it takes.
  void set_up() {
    const bool replaces = session_.state() == cairn::State::replacement;
    std::uint64_t word = 1;
    if (is("early-much-to-one")) not_replayed::kCalls.at("much-to-one")(ring_);
    if (!replaces || !is("early-sends-less")) (void)exchange(ring_, word);
    if (replaces && is("early-sends-more")) MPI_Send(&word, 1, MPI_UINT64_T, ring_.right, 6, ring_.comm);
    if (replaces && is("early-receives-more"))
      MPI_Recv(&word, 1, MPI_UINT64_T, ring_.left, 6, ring_.comm, MPI_STATUS_IGNORE);
    if (replaces && is("early-receives-any"))
      MPI_Recv(&word, 1, MPI_UINT64_T, MPI_ANY_SOURCE, 6, ring_.comm, MPI_STATUS_IGNORE);
    if (is("early-pending")) pending_ = ring_.begin_to_receive(early_, ring_.left, 8);
  }

  void take_step() {
    if (pending_ != MPI_REQUEST_NULL) {
      MPI_Send(&value_, 1, MPI_UINT64_T, ring_.right, 8, ring_.comm);
      MPI_Wait(&pending_, MPI_STATUS_IGNORE);
    }
    if (is("thread-at-once") && step_ + 1 == kDeath) not_replayed::kCalls.at("thread")(ring_);
    if (session_.rank() == 1 && step_ + 1 == (is("exchange-after-restore") ? kDeath + 1 : kDeath) &&
        !dies_elsewhere()) {
      if (is("loses-its-store") && expects_death_) lose_store();
      die_once(1);
    }
    if (session_.rank() == 1 && step_ + 1 == kLaterDeath) die_once(2);
    if (groups_) groups_->pass();
    if (is("asks-failed") && session_.rank() == 3 && expects_death_ && step_ + 1 == kDeath) wait_for_failure();
    if (differs("fails-in-catch-ups")) std::raise(SIGKILL);
    const std::uint64_t told = differs("sends-other") ? value_ + 1 : value_;
    const bool leaves_out = is("sends-none") && step_ + 1 == kDeath && session_.catches_up();
    if (differs("sends-less") || leaves_out) {
      receive_only();
    } else {
      const bool polls = is("stands-still-polled") && session_.rank() == 0;  // a neighbour of rank 1
      value_ = combine(value_,
                       exchange(
                           ring_, told, [&] { die_while_one_is_behind(); }, polls),
                       step_);
    }
    if (differs("sends-more")) {
      const std::uint64_t word = 1;
      MPI_Send(&word, 1, MPI_UINT64_T, ring_.right, 6, ring_.comm);
    }
    if (differs("stands-still") || differs("stands-still-polled")) {
      std::uint64_t never = 0;
      MPI_Recv(&never, 1, MPI_UINT64_T, ring_.left, 6, ring_.comm, MPI_STATUS_IGNORE);
    }
    ++step_;
    get_into_trouble();
  }

  // An error that is the application's own, once before a failure, and once after it.
  void receive_too_much() {
    if (duplicate_ == MPI_COMM_NULL) MPI_Comm_dup(ring_.comm, &duplicate_);
    for (const MPI_Comm comm : {ring_.comm, duplicate_}) {
      const int before = errors();
      const std::array<std::uint64_t, 2> out{};
      std::uint64_t in = 0;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Isend(out.data(), 2, MPI_UINT64_T, ring_.right, 12, comm, &request);
      int kind = MPI_SUCCESS;
      MPI_Error_class(MPI_Recv(&in, 1, MPI_UINT64_T, ring_.left, 12, comm, MPI_STATUS_IGNORE), &kind);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (kind != MPI_ERR_TRUNCATE || errors() != before + 1) throw std::runtime_error("an error is not told once");
    }
  }
  [[nodiscard]] bool dies_elsewhere() const {
    return is("asks-due") || is("asked-for") || is("finishes-without-sending");
  }
  // Nobody can open a session with it.
  static void lose_store() {
    std::filesystem::rename("local", "lost");
    std::ofstream("local") << "no directory\n";
  }
  // When rank 0 is at the next call of due(), and rank 2 has not come to this one.
  void die_while_one_is_behind() {
    if (!is("asks-due") || session_.rank() != 1 || step_ + 1 != kDeath || !expects_death_) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    die_once(1);
  }
  void ask_whether_due() {
    if (session_.rank() == 2 && step_ + 1 == kDeath && expects_death_)
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    (void)session_.due();
  }
  // Rank 1 dies before all ranks can agree on it.
  void take_what_is_asked_for() {
    if (session_.rank() == 1) die_once(1);
    const std::uint32_t version = session_.snapshot(cairn::LevelId::local);
    value_ = combine(value_, {version, version}, step_);
  }
  // Whether rank 1 dies before this snapshot is at L4 or not.
  void wait_for_the_last_level() {
    const std::uint32_t version = session_.snapshot(cairn::LevelId::global);
    if (session_.rank() == 1) die_once(1);
    (void)exchange(ring_, value_);
    session_.wait(cairn::LevelId::global);
    if (session_.safe_version(cairn::LevelId::global) < version) throw std::runtime_error("it is not at L4");
  }

  // As a loop does that has no Cairn calls and does not end at MPI errors.
  void wait_for_failure() {
    while (!session_.failed()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  void receive_only() {
    std::array<std::uint64_t, 2> theirs{};
    std::array requests{ring_.begin_to_receive(theirs[0], ring_.left, 1),
                        ring_.begin_to_receive(theirs[1], ring_.right, 2)};
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    value_ = combine(value_, theirs, step_);
  }

  // With the snapshot() call of this step.
  void get_into_trouble() {
    constexpr std::string_view kReplayed = "-replayed";
    const bool repeats = options_.what.ends_with(kReplayed) && session_.state() == cairn::State::replacement;
    const bool now = step_ == kTrouble && (session_.state() == cairn::State::fresh || repeats);
    const auto trouble = not_replayed::kCalls.find(options_.what.substr(0, options_.what.find(kReplayed)));
    if (now && trouble != not_replayed::kCalls.end()) trouble->second(ring_);
    if (now && is("restores-one")) session_.restore("unused");
    if (now && is("intercommunicator")) groups_.emplace(ring_);
    if (is("asks-due")) ask_whether_due();
    if (is("tells-errors") && (step_ == kFirstError || step_ == kLaterError)) receive_too_much();
    if (step_ == kTrouble && is("asked-for")) return take_what_is_asked_for();
    if (step_ == kTrouble && is("waits")) return wait_for_the_last_level();
    if (now && is("pending-matched")) {
      leave_matched();
    } else if (now && (is("pending-receive") || is("pending-send"))) {
      leave_pending();
    } else {
      const auto version = session_.snapshot();
      const bool right_after = is("exchange-after-restore") && step_ == kDeath;
      if (version && (step_ == kComplete || right_after)) wait_until_complete(*version);
    }
    if (options_.pause_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(options_.pause_ms));
  }

  // wait() would be a call that is not replayed.
  void wait_until_complete(std::uint32_t version) {
    while (session_.safe_version(cairn::LevelId::local) < version)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  void leave_matched() {
    const std::uint64_t mine = 1;
    std::uint64_t theirs = 0;
    MPI_Request send = ring_.begin_to_send(mine, 3);
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Mprobe(ring_.left, 3, ring_.comm, &message, MPI_STATUS_IGNORE);
    not_replayed::complete(send);
    session_.snapshot();
    MPI_Mrecv(&theirs, 1, MPI_UINT64_T, &message, MPI_STATUS_IGNORE);
  }

  void leave_pending() {
    const std::uint64_t mine = 1;
    std::uint64_t theirs = 0;
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Request send = MPI_REQUEST_NULL;
    if (is("pending-receive")) {
      receive = ring_.begin_to_receive(theirs, ring_.left, 3);
      session_.snapshot();
      send = ring_.begin_to_send(mine, 3);
    } else {
      send = ring_.begin_to_send(mine, 3);
      session_.snapshot();
      receive = ring_.begin_to_receive(theirs, ring_.left, 3);
    }
    not_replayed::complete(receive);
    not_replayed::complete(send);
  }

  void write() {
    if (is("finishes-without-sending") && ring_.rank == 1) {
      die_once(1);
      if (session_.state() == cairn::State::replacement) return;
    }
    if (ring_.rank != 0) {
      MPI_Send(&value_, 1, MPI_UINT64_T, 0, 7, ring_.comm);
      return;
    }
    std::ofstream file(options_.output);
    file << value_ << "\n";
    for (int rank = 1; rank < static_cast<int>(session_.size()); ++rank) {
      std::uint64_t theirs = 0;
      MPI_Recv(&theirs, 1, MPI_UINT64_T, rank, 7, ring_.comm, MPI_STATUS_IGNORE);
      file << theirs << "\n";
    }
  }

  cairn::Session& session_;
  const Options& options_;
  Ring ring_;
  std::int64_t step_ = 0;
  std::uint64_t value_ = 0;
  std::uint64_t unused_ = 0;
  std::vector<std::uint64_t> large_ = std::vector<std::uint64_t>(is("waits") ? 1 << 21 : 0);
  MPI_Request pending_ = MPI_REQUEST_NULL;
  MPI_Comm duplicate_ = MPI_COMM_NULL;
  std::optional<not_replayed::TwoGroups> groups_;  // until all ranks roll back
  std::uint64_t early_ = 0;
  bool expects_death_ = !std::ifstream(mark_of(1));  // the first one has not happened
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (options.what == "child") return not_replayed::be_a_child(argc, argv);
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Errhandler counts = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&count_error, &counts);
  if (options.what == "tells-errors") MPI_Comm_set_errhandler(MPI_COMM_WORLD, counts);
  const int code =
      cairn::run(MPI_COMM_WORLD, options.config, [&](cairn::Session& session) { Application(session, options).run(); });
  MPI_Finalize();
  return code;
}
