#include "carrier/part_collectives.hpp"

#include <span>
#include <stdexcept>
#include <variant>

#include "carrier/collectives/collectives.hpp"
#include "mpi/mpi_request.hpp"
#include "replay/number.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

using rollback::value_or_stop;

// Those of the lost rank. Nobody waits for another one.
class PartMessages final : public collectives::Messages {
 public:
  explicit PartMessages(rollback::LostWork& work) : work_(work) {}

  [[nodiscard]] int rank() const override { return static_cast<int>(work_.rank()); }
  [[nodiscard]] int size() const override { return static_cast<int>(work_.ranks()); }
  void send(const collectives::Source& what, int to) override {
    if (to == MPI_PROC_NULL) return;
    value_or_stop(work_.send(static_cast<std::uint32_t>(to), replay::kCollectiveTag, collectives::pack(what)));
  }
  void receive(const collectives::Target& into, int from) override {
    if (from == MPI_PROC_NULL) return;
    collectives::unpack(value_or_stop(work_.receive(static_cast<std::uint32_t>(from), replay::kCollectiveTag)), into);
  }
  void exchange_all(std::span<const collectives::Sent> sent, std::span<const collectives::Received> received) override {
    for (const auto& [what, to] : sent) send(what, to);
    for (const auto& [into, from] : received) receive(into, from);
  }

 private:
  rollback::LostWork& work_;
};

}  // namespace

void make_in_part(rollback::LostWork& work, const tap::collectives::Any& call) {
  const tap::Unheard own;
  PartMessages messages(work);
  try {
    std::visit([&](const auto& one) { collectives::make(one, messages); }, call);
  } catch (const collectives::Failed& failed) {
    throw Exception(ErrorKind::usage, mpi_error(failed.code, "a collective call of a part").text());
  } catch (const std::length_error&) {
    throw Exception(ErrorKind::usage, "a collective call of a part has a negative count");
  }
}

}  // namespace cairn
