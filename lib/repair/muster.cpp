#include "repair/muster.hpp"

#include <algorithm>
#include <utility>

#include "mpi/ulfm.hpp"
#include "tap/hear.hpp"

namespace cairn {
namespace {

constexpr int kTag = 2;
constexpr std::chrono::milliseconds kBetweenLooks{50};
constexpr std::chrono::seconds kLongestAnswer{1};  // for a process to print its stack and end

}  // namespace

Muster::Muster(Channel channel, std::vector<Neighbour> neighbours, std::chrono::milliseconds limit, Log log)
    : channel_(channel), neighbours_(std::move(neighbours)), limit_(limit), log_(std::move(log)) {}

void Muster::join() {
  if (std::exchange(joined_, true)) return;
  const tap::Unheard own;
  for (const Neighbour& neighbour : neighbours_) {
    MPI_Request request = MPI_REQUEST_NULL;
    // It may fail: a dead neighbour needs no message.
    if (MPI_Isend(nullptr, 0, MPI_BYTE, neighbour.number, kTag, channel_.words, &request) == MPI_SUCCESS)
      MPI_Request_free(&request);
  }
}

void Muster::look() {
  const auto now = Clock::now();
  if (now < next_look_) return;
  next_look_ = now + kBetweenLooks;
  receive();
  if (!called_ && ulfm::is_revoked(channel_.pool)) called_ = now;
  if (!called_ || now - *called_ < limit_) return;
  const auto before_me = [&](const Neighbour& other) {
    return other.has_joined && other.number < channel_.me && !is_gone(other.process);
  };
  if (std::ranges::any_of(neighbours_, before_me)) return;
  for (Neighbour& neighbour : neighbours_) {
    if (!neighbour.has_joined && !is_gone(neighbour.process)) end(neighbour);
  }
}

void Muster::receive() {
  for (Neighbour& neighbour : neighbours_) {
    if (neighbour.has_joined) continue;
    int found = 0;
    if (MPI_Iprobe(neighbour.number, kTag, channel_.words, &found, MPI_STATUS_IGNORE) != MPI_SUCCESS || found == 0)
      continue;
    MPI_Recv(nullptr, 0, MPI_BYTE, neighbour.number, kTag, channel_.words, MPI_STATUS_IGNORE);
    neighbour.has_joined = true;
  }
}

void Muster::end(Neighbour& straggler) const {
  const auto now = Clock::now();
  if (!straggler.ended) {
    log_.warning(
        "process {} ({}) has not joined the repair for {} ms ([recovery] straggler_limit) and is killed. Its stack:",
        straggler.process.number, straggler.name, limit_.count());
    straggler.ended = now;
    ask_for_stack(straggler.process);
  } else if (now - *straggler.ended > kLongestAnswer) {
    kill_process(straggler.process);
  }
}

}  // namespace cairn
