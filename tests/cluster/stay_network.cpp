#include "stay_network.hpp"

#include <chrono>
#include <cstddef>

namespace cairn::test {
namespace {

constexpr std::chrono::milliseconds kMoment{5};

}  // namespace

StayNetwork::Arrival StayNetwork::send(std::uint32_t from, const replay::Number& number, Buffer payload) {
  const std::lock_guard guard(mutex_);
  const replay::Lane there{number.lane.epoch, from, number.lane.tag};
  auto arrived = std::make_shared<bool>(false);
  lanes_[{number.lane.peer, replay::Lane{0, from, number.lane.tag}}].push_back(
      {replay::Number{there, number.place}, std::move(payload), arrived});
  ++news_;
  changed_.notify_all();
  return arrived;
}

std::optional<StayNetwork::Message> StayNetwork::take(std::uint32_t rank, const replay::Stream& from,
                                                      std::size_t place) {
  const std::lock_guard guard(mutex_);
  const auto lane = lanes_.find({rank, replay::Lane{0, from.peer, from.tag}});
  if (lane == lanes_.end() || place >= lane->second.size()) return {};
  const auto at = lane->second.begin() + static_cast<std::ptrdiff_t>(place);
  Message message = std::move(*at);
  lane->second.erase(at);
  *message.arrived = true;
  ++news_;
  changed_.notify_all();
  return message;
}

std::vector<std::uint32_t> StayNetwork::senders(std::uint32_t rank, std::int32_t tag) {
  const std::lock_guard guard(mutex_);
  std::vector<std::uint32_t> senders;
  for (const auto& [where, messages] : lanes_)
    if (where.first == rank && where.second.tag == tag && !messages.empty()) senders.push_back(where.second.peer);
  return senders;
}

bool StayNetwork::has_arrived(const Arrival& arrival) {
  const std::lock_guard guard(mutex_);
  return *arrival;
}

std::uint64_t StayNetwork::news() {
  const std::lock_guard guard(mutex_);
  return news_;
}

void StayNetwork::wait_for_news(std::uint64_t seen) {
  std::unique_lock guard(mutex_);
  changed_.wait(guard, [&] { return news_ != seen; });
}

void StayNetwork::wait_a_little(std::uint64_t seen) {
  std::unique_lock guard(mutex_);
  // By the system clock, as in MemoryStore.
  changed_.wait_until(guard, std::chrono::system_clock::now() + kMoment, [&] { return news_ != seen; });
}

void StayNetwork::wake() {
  const std::lock_guard guard(mutex_);
  ++news_;
  changed_.notify_all();
}

void StayNetwork::clear() {
  const std::lock_guard guard(mutex_);
  lanes_.clear();
}

}  // namespace cairn::test
