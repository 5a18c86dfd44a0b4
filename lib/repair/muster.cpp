#include "repair/muster.hpp"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};
constexpr std::chrono::seconds kLongestAnswer{1};  // for a process to print its stack and end

}  // namespace

Muster::Muster(HostProcesses& host, Channel channel, std::vector<Neighbour> neighbours, std::chrono::milliseconds limit,
               Log log)
    : host_(host),
      channel_(std::move(channel)),
      neighbours_(std::move(neighbours)),
      limit_(limit),
      log_(std::move(log)) {}

void Muster::join() {
  if (std::exchange(joined_, true)) return;
  for (const Neighbour& neighbour : neighbours_) channel_.words->notify(neighbour.number);
}

void Muster::look() {
  const auto now = Clock::now();
  if (now < next_look_) return;
  next_look_ = now + kBetweenLooks;
  receive();
  if (!called_ && channel_.pool->is_revoked()) called_ = now;
  if (!called_ || now - *called_ < limit_) return;
  const auto before_me = [&](const Neighbour& other) {
    return other.has_joined && other.number < channel_.pool->rank() && !host_.is_gone(other.process);
  };
  if (std::ranges::any_of(neighbours_, before_me)) return;
  for (Neighbour& neighbour : neighbours_) {
    if (!neighbour.has_joined && !host_.is_gone(neighbour.process)) end(neighbour);
  }
}

void Muster::receive() {
  for (Neighbour& neighbour : neighbours_) {
    if (!neighbour.has_joined) neighbour.has_joined = channel_.words->receive_notice(neighbour.number);
  }
}

void Muster::end(Neighbour& straggler) const {
  const auto now = Clock::now();
  if (!straggler.ended) {
    log_.warning(
        "process {} ({}) has not joined the repair for {} ms ([recovery] straggler_limit) and is killed. Its stack:",
        straggler.process.number, straggler.name, limit_.count());
    straggler.ended = now;
    host_.ask_for_stack(straggler.process);
  } else if (now - *straggler.ended > kLongestAnswer) {
    host_.kill(straggler.process);
  }
}

}  // namespace cairn
