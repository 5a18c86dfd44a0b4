#include "replay/exchange.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace cairn::replay {
namespace {

// No other message of this communicator has it.
constexpr Tag kTag{901};

// An empty message is one piece, too.
std::uint64_t pieces_of(Bytes message, std::size_t most) {
  return std::max<std::uint64_t>(1, (message.size() + most - 1) / most);
}

}  // namespace

Result<std::map<std::uint32_t, Buffer>> exchange(Comm& comm, const std::map<std::uint32_t, Buffer>& out,
                                                 std::size_t most) {
  std::vector<std::uint64_t> counts(comm.size());
  for (const auto& [to, message] : out) counts[to] = pieces_of(message, most);
  if (auto status = comm.allreduce(counts, Reduce::sum); !status) return fail(status.error());
  std::vector<std::unique_ptr<Request>> sends;
  for (const auto& [to, message] : out) {
    const Bytes whole(message);
    for (std::size_t at = 0, piece = 0; piece < pieces_of(whole, most); ++piece, at += most)
      sends.push_back(comm.isend(Peer{to}, kTag, whole.subspan(at, std::min(most, whole.size() - at))));
  }
  std::map<std::uint32_t, Buffer> in;
  for (std::uint64_t got = 0; got < counts[comm.rank().value];) {
    const auto found = comm.probe(kTag);
    if (!found) return fail(found.error());
    if (*found) {
      auto message = comm.recv_probed(**found);
      if (!message) return fail(message.error());
      Buffer& whole = in[(*found)->source.value];
      const std::size_t size = whole.size();
      whole.resize(size + message->size());
      std::ranges::copy(*message, whole.begin() + static_cast<std::ptrdiff_t>(size));
      ++got;
    }
    comm.idle(found->has_value());
  }
  for (const auto& send : sends)
    if (auto status = comm.wait(*send); !status) return fail(status.error());
  return in;
}

}  // namespace cairn::replay
