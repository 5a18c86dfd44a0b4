// The messages of the application among ranks that are threads: those between two ranks with one tag match in order,
// and long ones are over for their sender when they are received. Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "replay/number.hpp"

namespace cairn::test {

class StayNetwork {
 public:
  struct Message {
    replay::Number number;  // as its receiver has it
    Buffer payload;
    std::shared_ptr<bool> arrived;  // what its sender waits for, under the mutex
  };
  // A message that is sent; true: it was received. Guarded by wait().
  using Arrival = std::shared_ptr<bool>;

  // `from` sends it; `number`: as the sender has it.
  Arrival send(std::uint32_t from, const replay::Number& number, Buffer payload);
  // The message to `rank` that is at this place among those of a sender with a tag that nobody has taken.
  [[nodiscard]] std::optional<Message> take(std::uint32_t rank, const replay::Stream& from, std::size_t place);
  // Those who have sent messages to `rank` with this tag that nobody has taken.
  [[nodiscard]] std::vector<std::uint32_t> senders(std::uint32_t rank, std::int32_t tag);
  [[nodiscard]] bool has_arrived(const Arrival& arrival);

  // Waits for something to happen after `seen`, which is what news() has returned.
  [[nodiscard]] std::uint64_t news();
  void wait_for_news(std::uint64_t seen);
  // The same, for a moment.
  void wait_a_little(std::uint64_t seen);
  // Something else has happened.
  void wake();
  // All that is under way is lost.
  void clear();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t news_ = 0;
  std::map<std::pair<std::uint32_t, replay::Lane>, std::deque<Message>> lanes_;  // by receiver, and the lane there
};

}  // namespace cairn::test
