// Blocking collectives of a carrier: each is messages of point-to-point calls, which are logged like the application's.
// They run so from the first call to the last, even while nothing is logged: all ranks must do the same, and get the
// same bits.
#include <variant>

#include "mpi/collectives/collectives.hpp"
#include "mpi/message_carrier.hpp"
#include "mpi/place_in.hpp"

namespace cairn {

class MessageCarrier::CollectiveMessages final : public collectives::Messages {
 public:
  explicit CollectiveMessages(MessageCarrier& of) : of_(of), rank_(rank_in(of.setting_.comm)) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return of_.size_; }
  void send(const collectives::Source& what, int to) override { check(of_.send(message(what, to))); }
  void receive(const collectives::Target& into, int from) override {
    check(of_.receive(message(into, from), MPI_STATUS_IGNORE));
  }
  void exchange(const collectives::Source& what, int to, const collectives::Target& into, int from) override {
    check(of_.exchange(message(what, to), message(into, from), MPI_STATUS_IGNORE));
  }

 private:
  static tap::OutgoingMessage message(const collectives::Source& what, int to) {
    return {.buffer = what.at, .count = what.count, .type = what.type, .peer = to, .tag = replay::kCollectiveTag};
  }
  static tap::IncomingMessage message(const collectives::Target& into, int from) {
    return {.buffer = into.at, .count = into.count, .type = into.type, .peer = from, .tag = replay::kCollectiveTag};
  }
  static void check(int code) {
    if (code != MPI_SUCCESS) throw collectives::Failed{code, true};
  }

  MessageCarrier& of_;
  int rank_;
};

int MessageCarrier::collective(const tap::collectives::Any& call) {
  CollectiveMessages messages(*this);
  try {
    std::visit([&](const auto& one) { collectives::make(one, messages); }, call);
    return MPI_SUCCESS;
  } catch (const collectives::Failed& failed) {
    return failed.raised ? failed.code : raise(failed.code);
  }
}

}  // namespace cairn
