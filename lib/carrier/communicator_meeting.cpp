// What the ranks tell each other while they make a communicator.
#include <algorithm>
#include <span>
#include <vector>

#include "carrier/collectives/collectives.hpp"
#include "carrier/communicator_maker.hpp"
#include "carrier/message_counts.hpp"
#include "carrier/patience.hpp"
#include "mpi/place_in.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

// What `exchange` returns, or MPI's code of a message that has failed.
template <class Exchange>
int code_of(Exchange exchange) {
  try {
    return exchange();
  } catch (const collectives::Failed& failed) {
    return failed.code;
  }
}

// Messages of Cairn's own, which are not logged. A wait for one ends when a process has died.
class PatientMessages final : public collectives::Messages {
 public:
  // Among the callers, ranks of the parent, this rank one of them.
  PatientMessages(CarrierJob& job, const Channel& parent, std::span<const int> callers)
      : job_(job), channel_(parent), comm_(parent.own), ranks_(callers) {}

  [[nodiscard]] int rank() const override {
    return static_cast<int>(std::ranges::find(ranks_, rank_in(comm_)) - ranks_.begin());
  }
  [[nodiscard]] int size() const override { return static_cast<int>(ranks_.size()); }
  void send(const collectives::Source& what, int to) override {
    const collectives::Sent sent{what, to};
    exchange_all({&sent, 1}, {});
  }
  void receive(const collectives::Target& into, int from) override {
    const collectives::Received received{into, from};
    exchange_all({}, {&received, 1});
  }
  void exchange_all(std::span<const collectives::Sent> sent, std::span<const collectives::Received> received) override {
    auto [requests, code] = collectives::begin_all(
        sent, received,
        [&](const auto& one, MPI_Request* begun) {
          const auto& [at, count, type] = one.into;
          if (is_counted(one.from)) traffic().posted(stream(one.from));
          return MPI_Irecv(at, static_cast<int>(count), type, rank_of(one.from), kTag, comm_, begun);
        },
        [&](const auto& one, MPI_Request* begun) {
          const auto& [at, count, type] = one.what;
          if (is_counted(one.to)) traffic().sent(stream(one.to));
          return MPI_Isend(at, static_cast<int>(count), type, rank_of(one.to), kTag, comm_, begun);
        });
    // Each is over then, and uses no memory of the caller's.
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const bool receives = i < received.size();
      const int peer = receives ? received[i].from : sent[i - received.size()].to;
      const int over = wait_patiently(job_, requests[i], MPI_STATUS_IGNORE, [&] { return needs_of(peer, receives); });
      if (over != MPI_SUCCESS)
        code = over;
      else if (receives && is_counted(peer))
        traffic().received(stream(peer));
    }
    collectives::check(code);
  }

 private:
  static constexpr int kTag = 903;  // no other message of Cairn's communicator has it
  [[nodiscard]] int rank_of(int caller) const {
    return caller == MPI_PROC_NULL ? MPI_PROC_NULL : ranks_[static_cast<std::size_t>(caller)];
  }
  // The tags of the application's messages are not negative.
  [[nodiscard]] bool is_counted(int caller) const {
    return caller != MPI_PROC_NULL && MessageCounts(job_).counts(0, 0);
  }
  [[nodiscard]] replay::Stream stream(int caller) const {
    return {channel_.member(rank_of(caller)), -kTag, channel_.facts.number};
  }
  [[nodiscard]] replay::Traffic& traffic() const { return job_.traffic(); }
  [[nodiscard]] std::optional<replay::DeadlockCheck::Needs> needs_of(int caller, bool receives) const {
    if (!is_counted(caller)) return {};
    const replay::Stream with = stream(caller);
    const replay::Pattern pattern{.channel = with.channel, .peer = with.peer, .tag = with.tag};
    return replay::DeadlockCheck::Needs{receives ? traffic().message(pattern) : traffic().receiver(with)};
  }

  CarrierJob& job_;
  const Channel& channel_;
  MPI_Comm comm_;
  std::span<const int> ranks_;
};

}  // namespace

// Before MPI makes it, which cannot be interrupted: a replacement may come to its call late, or, if it exchanges other
// messages than the dead rank, never.
int CommunicatorMaker::meet_patiently(const Making& making) {
  const tap::Unheard unheard;
  PatientMessages messages(job_, making.parent, making.callers);
  return code_of([&] {
    collectives::make(tap::collectives::Barrier{making.parent.own}, messages);
    return MPI_SUCCESS;
  });
}

// The keepers of a rank's neighbours get them. MPI knows them in the same order.
int CommunicatorMaker::tell_keepers(Making& making) {
  const tap::Unheard unheard;
  PatientMessages messages(job_, making.parent, making.callers);
  const int size = messages.size();
  const int me = messages.rank();
  const replay::Neighbourhood& mine = making.facts.graph[me] = *making.request.neighbours;
  ByteWriter out;
  encode(mine, out);
  return code_of([&]() -> int {
    for (const int distance : replay::distances_to_keepers(size)) {
      const int to = (me + distance) % size;
      const int from = (me - distance + size) % size;
      const std::uint64_t length = out.size();
      std::uint64_t their_length = 0;
      messages.exchange({&length, 1, MPI_UINT64_T}, to, {&their_length, 1, MPI_UINT64_T}, from);
      Buffer theirs(their_length);
      messages.exchange(collectives::bytes_source(out.bytes()), to, collectives::bytes_target(theirs), from);
      ByteReader in(theirs);
      making.facts.graph[from] = replay::decode_neighbourhood(in);
    }
    return MPI_SUCCESS;
  });
}

}  // namespace cairn
