#include "replay/exchange.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace cairn::replay {
namespace {

// No other message of this communicator has it.
constexpr Tag kTag{901};

}  // namespace

Result<std::map<std::uint32_t, Buffer>> exchange(Comm& comm, const std::map<std::uint32_t, Buffer>& out) {
  std::vector<std::uint64_t> counts(comm.size());
  for (const auto& [to, message] : out) counts[to] = 1;
  if (auto status = comm.allreduce(counts, Reduce::sum); !status) return fail(status.error());
  std::vector<std::unique_ptr<Request>> sends;
  for (const auto& [to, message] : out) sends.push_back(comm.isend(Peer{to}, kTag, message));
  std::map<std::uint32_t, Buffer> in;
  while (in.size() < counts[comm.rank().value]) {
    const auto found = comm.probe(kTag);
    if (!found) return fail(found.error());
    if (*found) {
      auto message = comm.recv_probed(**found);
      if (!message) return fail(message.error());
      in[(*found)->source.value] = std::move(*message);
    }
    comm.idle(found->has_value());
  }
  for (const auto& send : sends)
    if (auto status = comm.wait(*send); !status) return fail(status.error());
  return in;
}

}  // namespace cairn::replay
