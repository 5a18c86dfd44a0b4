// A small application for the tests beside this file, that communicates in every way that a replacement can compute
// again alone, and shows what it has computed:
//
//   lost_steps polls|patient|careful --steps N --config FILE --output FILE --pause-ms N
//
// Each process appends a line to steps.RANK.HOST.PROCESS after each step: the step, a sum over all that the rank has
// received X a ring. Rank 0 writes the sums of all at the end.
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include <cairn/cairn.hpp>

#include "lost_program.hpp"
#include "options.hpp"

namespace {

using lost::mix;
using lost::write_sums;

constexpr int kLong = 40000;    // words of a message that MPI sends only when its receiver is known
constexpr int kMatched = 5000;  // the same

// The messages of one rank in one step. Each depends on all that the rank has received before.
class Step {
 public:
  Step(const cairn::Session& session, bool careful, std::uint64_t& sum)
      : session_(session), careful_(careful), comm_(session.comm()), sum_(sum) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    left_ = (rank_ + size_ - 1) % size_;
    right_ = (rank_ + 1) % size_;
  }

  void take() {
    wait_for_all();
    take_turns();
    send_in_other_ways();
    send_long_ones_buffered();
    exchange();
    probe();
    match();
    test();
    wait_for_any();
    test_some();
    overtake();
    send_strided();
    send_to_nobody_and_to_itself();
  }

 private:
  using Words = std::array<std::uint64_t, 4>;

  [[nodiscard]] Words words(std::uint64_t salt) const {
    return {mix(sum_, salt), mix(sum_, salt + 1), salt, static_cast<std::uint64_t>(rank_)};
  }
  void absorb(std::span<const std::uint64_t> received) {
    for (const auto word : received) sum_ = mix(sum_, word);
  }
  // What MPI says of a message counts, too.
  void absorb(const MPI_Status& status) {
    int count = 0;
    MPI_Get_count(&status, MPI_UINT64_T, &count);
    for (const int number : {status.MPI_SOURCE, status.MPI_TAG, count}) sum_ = mix(sum_, static_cast<unsigned>(number));
  }

  [[nodiscard]] MPI_Request begin_to_send(std::span<const std::uint64_t> from, int peer, int tag) const {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(from.data(), static_cast<int>(from.size()), MPI_UINT64_T, peer, tag, comm_, &request);
    return request;
  }
  [[nodiscard]] MPI_Request begin_to_receive(std::span<std::uint64_t> to, int peer, int tag) const {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(to.data(), static_cast<int>(to.size()), MPI_UINT64_T, peer, tag, comm_, &request);
    return request;
  }
  // Until it is there.
  template <class Look>
  void poll(Look look) const {
    while (!look() && !(careful_ && session_.failed())) std::this_thread::yield();
  }
  void wait(MPI_Request& request) const { MPI_Wait(&request, MPI_STATUS_IGNORE); }

  void wait_for_all() {
    const Words mine = words(10);
    Words from_left{};
    Words from_right{};
    std::array requests{begin_to_receive(from_left, left_, 11), begin_to_receive(from_right, right_, 12),
                        begin_to_send(mine, left_, 12), begin_to_send(mine, right_, 11)};
    std::array<MPI_Status, 4> statuses{};
    MPI_Waitall(4, requests.data(), statuses.data());
    absorb(from_left);
    absorb(from_right);
    absorb(statuses[0]);
    absorb(statuses[1]);
  }

  void take_turns() {
    for (const bool synchronous : {false, true}) {
      const Words mine = words(20);
      Words theirs{};
      const auto send = [&] { (synchronous ? MPI_Ssend : MPI_Send)(mine.data(), 4, MPI_UINT64_T, right_, 20, comm_); };
      if (rank_ % 2 == 0) send();
      MPI_Status status;
      MPI_Recv(theirs.data(), 4, MPI_UINT64_T, left_, 20, comm_, &status);
      if (rank_ % 2 != 0) send();
      absorb(theirs);
      absorb(status);
    }
  }

  // Buffered, and to receives that have been posted: the receiver says so first.
  void send_in_other_ways() {
    const Words mine = words(25);
    std::array<Words, 5> theirs{};
    std::array<MPI_Request, 5> receives{};
    for (std::size_t i = 0; i < 5; ++i) receives[i] = begin_to_receive(theirs[i], left_, 25);
    std::array<char, 4096> buffer{};
    void* detached = nullptr;
    int bytes = 0;
    std::array<MPI_Request, 3> sends{};
    MPI_Sendrecv(nullptr, 0, MPI_UINT64_T, left_, 26, nullptr, 0, MPI_UINT64_T, right_, 26, comm_, MPI_STATUS_IGNORE);
    MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
    MPI_Bsend(mine.data(), 4, MPI_UINT64_T, right_, 25, comm_);
    MPI_Rsend(mine.data(), 4, MPI_UINT64_T, right_, 25, comm_);
    MPI_Ibsend(mine.data(), 4, MPI_UINT64_T, right_, 25, comm_, sends.data());
    MPI_Irsend(mine.data(), 4, MPI_UINT64_T, right_, 25, comm_, &sends[1]);
    MPI_Issend(mine.data(), 4, MPI_UINT64_T, right_, 25, comm_, &sends[2]);
    MPI_Waitall(3, sends.data(), MPI_STATUSES_IGNORE);
    MPI_Waitall(5, receives.data(), MPI_STATUSES_IGNORE);
    MPI_Buffer_detach(static_cast<void*>(&detached), &bytes);
    for (const Words& each : theirs) absorb(each);
  }

  // Each rank sends more than MPI takes without a receiver, before it receives.
  void send_long_ones_buffered() {
    constexpr int kLong = 100'000;
    const Words mine = words(27);
    const std::vector<std::uint64_t> out(kLong, mine[0]);
    std::vector<std::uint64_t> in(out.size());
    std::vector<char> buffer(out.size() * sizeof(out[0]) * 2 + 2 * MPI_BSEND_OVERHEAD);
    void* detached = nullptr;
    int bytes = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
    MPI_Bsend(out.data(), kLong, MPI_UINT64_T, right_, 27, comm_);
    MPI_Ibsend(out.data(), kLong, MPI_UINT64_T, right_, 27, comm_, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; ++i) {
      MPI_Recv(in.data(), kLong, MPI_UINT64_T, left_, 27, comm_, MPI_STATUS_IGNORE);
      absorb(Words{in[0], in[1], in[kLong - 2], in[kLong - 1]});
    }
    MPI_Buffer_detach(static_cast<void*>(&detached), &bytes);
  }

  void exchange() {
    const Words mine = words(30);
    Words theirs{};
    MPI_Status status;
    MPI_Sendrecv(mine.data(), 4, MPI_UINT64_T, right_, 30, theirs.data(), 4, MPI_UINT64_T, left_, 30, comm_, &status);
    absorb(theirs);
    absorb(status);
    Words both = words(31);
    MPI_Sendrecv_replace(both.data(), 4, MPI_UINT64_T, left_, 31, right_, 31, comm_, &status);
    absorb(both);
    absorb(status);
  }

  // The receiver does not know how long the message is.
  void probe() {
    for (const bool blocks : {true, false}) {
      const std::vector<std::uint64_t> mine(1 + (sum_ % 5), sum_);
      MPI_Request request = begin_to_send(mine, right_, 40);
      MPI_Status status;
      int arrived = 0;
      if (blocks) MPI_Probe(left_, 40, comm_, &status);
      if (!blocks)
        poll([&] {
          MPI_Iprobe(left_, 40, comm_, &arrived, &status);
          return arrived;
        });
      int count = 0;
      MPI_Get_count(&status, MPI_UINT64_T, &count);
      std::vector<std::uint64_t> theirs(static_cast<std::size_t>(count));
      MPI_Recv(theirs.data(), count, MPI_UINT64_T, left_, 40, comm_, MPI_STATUS_IGNORE);
      wait(request);
      absorb(theirs);
      absorb(status);
    }
  }

  // Long and short ones, which are received in another order than they are matched in.
  void match() {
    const std::vector<std::uint64_t> mine(kMatched, sum_);
    const Words more = words(45);
    std::array sends{begin_to_send(mine, right_, 45), begin_to_send(more, right_, 45), begin_to_send(more, right_, 46)};
    std::array<MPI_Message, 3> messages{};
    std::array<MPI_Status, 3> statuses{};
    MPI_Mprobe(left_, 45, comm_, messages.data(), statuses.data());
    poll([&] {
      int flag = 0;
      MPI_Improbe(left_, 46, comm_, &flag, &messages[2], &statuses[2]);
      return flag != 0;
    });
    MPI_Mprobe(left_, 45, comm_, &messages[1], &statuses[1]);
    Words theirs{};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Imrecv(theirs.data(), 4, MPI_UINT64_T, &messages[2], &request);
    wait(request);
    absorb(theirs);
    MPI_Mrecv(theirs.data(), 4, MPI_UINT64_T, &messages[1], MPI_STATUS_IGNORE);
    absorb(theirs);
    std::vector<std::uint64_t> longest(kMatched);
    MPI_Mrecv(longest.data(), kMatched, MPI_UINT64_T, messages.data(), MPI_STATUS_IGNORE);
    absorb(longest);
    for (const MPI_Status& status : statuses) absorb(status);
    MPI_Waitall(3, sends.data(), MPI_STATUSES_IGNORE);
  }

  void test() {
    const Words mine = words(50);
    Words theirs{};
    std::array requests{begin_to_receive(theirs, left_, 50), begin_to_send(mine, right_, 50)};
    int there = 0;
    poll([&] {
      MPI_Request_get_status(requests[0], &there, MPI_STATUS_IGNORE);
      return there;
    });
    MPI_Status status;
    poll([&] {
      MPI_Test(requests.data(), &there, &status);
      return there;
    });
    poll([&] {
      MPI_Testall(2, requests.data(), &there, MPI_STATUSES_IGNORE);
      return there;
    });
    absorb(theirs);
    absorb(status);
  }

  // The last message may come first; what counts is what each request has got.
  void wait_for_any() {
    std::array<Words, 3> mine{words(60), words(61), words(62)};
    std::array<Words, 3> theirs{};
    std::array<MPI_Request, 3> receives{};
    std::array<MPI_Request, 3> sends{};
    for (std::size_t i = 0; i < 3; ++i) receives[i] = begin_to_receive(theirs[i], left_, 60 + static_cast<int>(i));
    for (std::size_t i = 3; i-- > 0;) sends[i] = begin_to_send(mine[i], right_, 60 + static_cast<int>(i));
    for (int done = 0; done < 3; ++done) {
      int which = 0;
      MPI_Waitany(3, receives.data(), &which, MPI_STATUS_IGNORE);
    }
    for (int done = 0; done < 3;) {
      std::array<int, 3> which{};
      int some = 0;
      MPI_Waitsome(3, sends.data(), &some, which.data(), MPI_STATUSES_IGNORE);
      done += some;
    }
    for (const Words& each : theirs) absorb(each);
  }

  void test_some() {
    std::array<Words, 2> mine{words(70), words(71)};
    std::array<Words, 2> theirs{};
    std::array receives{begin_to_receive(theirs[0], left_, 70), begin_to_receive(theirs[1], left_, 70)};
    std::array sends{begin_to_send(mine[0], right_, 70), begin_to_send(mine[1], right_, 70)};
    int done = 0;
    poll([&] {
      int which = 0;
      int there = 0;
      MPI_Testany(2, receives.data(), &which, &there, MPI_STATUS_IGNORE);
      done += there;
      return done == 2;
    });
    done = 0;
    poll([&] {
      std::array<int, 2> which{};
      int some = 0;
      MPI_Testsome(2, sends.data(), &some, which.data(), MPI_STATUSES_IGNORE);
      done += some;
      return done == 2;
    });
    for (const Words& each : theirs) absorb(each);
  }

  // A short message may be there before a long one that was sent earlier.
  void overtake() {
    const std::vector<std::uint64_t> long_one(kLong, sum_);
    const Words short_one = words(80);
    std::vector<std::uint64_t> long_theirs(kLong);
    Words short_theirs{};
    std::array requests{begin_to_receive(long_theirs, left_, 80), begin_to_receive(short_theirs, left_, 80),
                        begin_to_send(long_one, right_, 80), begin_to_send(short_one, right_, 80)};
    wait(requests[1]);
    absorb(short_theirs);
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
    absorb(long_theirs);
  }

  // Every other word of what lies there.
  void send_strided() {
    MPI_Datatype every_other = MPI_DATATYPE_NULL;
    MPI_Type_vector(4, 1, 2, MPI_UINT64_T, &every_other);
    MPI_Type_commit(&every_other);
    std::array<std::uint64_t, 8> mine{};
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = mix(sum_, i);
    std::array<std::uint64_t, 8> theirs{};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(theirs.data(), 1, every_other, left_, 90, comm_, &request);
    MPI_Send(mine.data(), 1, every_other, right_, 90, comm_);
    wait(request);
    MPI_Type_free(&every_other);
    absorb(theirs);
  }

  void send_to_nobody_and_to_itself() {
    const Words mine = words(100);
    Words nothing{};
    MPI_Send(mine.data(), 4, MPI_UINT64_T, MPI_PROC_NULL, 100, comm_);
    MPI_Recv(nothing.data(), 4, MPI_UINT64_T, MPI_PROC_NULL, 100, comm_, MPI_STATUS_IGNORE);
    absorb(nothing);
    MPI_Request request = begin_to_send({}, right_, 101);
    MPI_Status status;
    MPI_Recv(nullptr, 0, MPI_UINT64_T, left_, 101, comm_, &status);
    wait(request);
    absorb(status);
    Words own{};
    request = begin_to_send(mine, rank_, 102);
    MPI_Recv(own.data(), 4, MPI_UINT64_T, rank_, 102, comm_, MPI_STATUS_IGNORE);
    wait(request);
    absorb(own);
  }

  const cairn::Session& session_;
  bool careful_;
  MPI_Comm comm_;
  std::uint64_t& sum_;
  int rank_ = 0;
  int size_ = 0;
  int left_ = 0;
  int right_ = 0;
};

// Persistent requests, which the steps start: a long message and a short one to the right, and an answer.
class Prepared {
 public:
  explicit Prepared(MPI_Comm comm) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const int left = (rank + size - 1) % size;
    const int right = (rank + 1) % size;
    MPI_Recv_init(theirs_.data(), kLong, MPI_UINT64_T, left, 110, comm, requests_.data());
    MPI_Recv_init(&their_word_, 1, MPI_UINT64_T, left, 111, comm, &requests_[1]);
    MPI_Send_init(mine_.data(), kLong, MPI_UINT64_T, right, 110, comm, &requests_[2]);
    MPI_Ssend_init(&my_word_, 1, MPI_UINT64_T, right, 111, comm, &requests_[3]);
    MPI_Recv_init(&answer_, 1, MPI_UINT64_T, right, 112, comm, &requests_[4]);
    MPI_Rsend_init(&their_word_, 1, MPI_UINT64_T, left, 112, comm, &requests_[5]);
  }
  ~Prepared() {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  void start(std::uint64_t& sum) {
    for (std::size_t i = 0; i < mine_.size(); ++i) mine_[i] = sum + i;
    my_word_ = sum;
    MPI_Start(&requests_[4]);
    MPI_Startall(4, requests_.data());
    MPI_Wait(&requests_[1], MPI_STATUS_IGNORE);
    MPI_Start(&requests_[5]);
    for (int open = 5; open > 0; --open) {
      int which = 0;
      MPI_Waitany(6, requests_.data(), &which, MPI_STATUS_IGNORE);
    }
    for (const std::uint64_t word : {theirs_.back(), their_word_, answer_}) sum = mix(sum, word);
  }

 private:
  std::vector<std::uint64_t> mine_ = std::vector<std::uint64_t>(kLong);
  std::vector<std::uint64_t> theirs_ = std::vector<std::uint64_t>(kLong);
  std::uint64_t my_word_ = 0;
  std::uint64_t their_word_ = 0;
  std::uint64_t answer_ = 0;
  std::array<MPI_Request, 6> requests_{};
};

void compute(cairn::Session& session, const Options& options) {
  std::int64_t step = 0;
  std::uint64_t sum = session.rank();
  session.protect("step", step);
  session.protect("sum", sum);
  session.restore();
  Prepared prepared(session.comm());
  lost::take_steps(session, options, step, [&] {
    Step(session, options.what == "careful", sum).take();
    prepared.start(sum);
    return sum;
  });
  write_sums(options.output, sum, session);
}

}  // namespace

int main(int argc, char** argv) { return lost::run(argc, argv, compute); }
