// Blocking collectives of a carrier: each is messages of point-to-point calls, which are logged like the application's.
// They run so from the first call to the last, even while nothing is logged: all ranks must do the same, and get the
// same bits.
#include <span>
#include <stdexcept>
#include <variant>
#include <vector>

#include "carrier/collectives/collectives.hpp"
#include "carrier/message_carrier.hpp"
#include "mpi/place_in.hpp"

namespace cairn {

class MessageCarrier::CollectiveMessages final : public collectives::Messages {
 public:
  CollectiveMessages(MessageCarrier& of, MPI_Comm comm)
      : of_(of), comm_(comm), rank_(rank_in(of.job_.channel_of(comm).own)), size_(of.job_.channel_of(comm).size()) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void send(const collectives::Source& what, int to) override { check(of_.send(message(what, to))); }
  void receive(const collectives::Target& into, int from) override {
    check(of_.receive(message(into, from), MPI_STATUS_IGNORE));
  }
  void exchange(const collectives::Source& what, int to, const collectives::Target& into, int from) override {
    check(of_.exchange(message(what, to), message(into, from), MPI_STATUS_IGNORE));
  }
  void exchange_all(std::span<const collectives::Sent> sent, std::span<const collectives::Received> received) override {
    auto [requests, code] = collectives::begin_all(
        sent, received,
        [&](const auto& one, MPI_Request* begun) { return of_.begin_receive(message(one.into, one.from), begun); },
        [&](const auto& one, MPI_Request* begun) { return of_.begin_send(message(one.what, one.to), begun); });
    // Of one message the code tells what has failed.
    const auto which = requests.size() == 1 ? tap::Which::one : tap::Which::all;
    const int over = requests.empty() ? MPI_SUCCESS : of_.complete(which, requests, {});
    check(code == MPI_SUCCESS ? over : code);
  }

 private:
  [[nodiscard]] tap::OutgoingMessage message(const collectives::Source& what, int to) const {
    return {.buffer = what.at,
            .count = what.count,
            .type = what.type,
            .peer = to,
            .tag = replay::kCollectiveTag,
            .comm = comm_};
  }
  [[nodiscard]] tap::IncomingMessage message(const collectives::Target& into, int from) const {
    return {.buffer = into.at,
            .count = into.count,
            .type = into.type,
            .peer = from,
            .tag = replay::kCollectiveTag,
            .comm = comm_};
  }
  static void check(int code) {
    if (code != MPI_SUCCESS) throw collectives::Failed{code, true};
  }

  MessageCarrier& of_;
  MPI_Comm comm_;
  int rank_;
  int size_;
};

int MessageCarrier::collective(const tap::collectives::Any& call) {
  const MPI_Comm comm = std::visit([](const auto& one) { return one.comm; }, call);
  CollectiveMessages messages(*this, comm);
  try {
    std::visit([&](const auto& one) { collectives::make(one, messages); }, call);
    return MPI_SUCCESS;
  } catch (const collectives::Failed& failed) {
    return failed.raised ? failed.code : job_.raise(failed.code, comm);
  } catch (const std::length_error&) {
    return job_.raise(MPI_ERR_COUNT, comm);
  }
}

}  // namespace cairn
