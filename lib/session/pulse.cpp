#include "session/pulse.hpp"

#include <utility>

#include "session/schedule.hpp"

namespace cairn {

using std::chrono::microseconds;

Pulse::Pulse(Comm& ranks, Clock clock) : ranks_(ranks), clock_(std::move(clock)), start_(clock_()) {}

Result<std::optional<Pulse::Beat>> Pulse::call(bool stop_here, const Measures& mine) {
  std::optional<Beat> agreed;
  ++calls_;
  if (pending_) {
    if (auto status = ranks_.wait(*pending_); !status) return fail(status.error());
    pending_.reset();
    agreed = beat();
    period_ = PulsePeriod::next_period(covered_, agreed->elapsed - last_, period_);
    last_ = agreed->elapsed;
  }
  if (!started_ || calls_ >= period_) start(stop_here, mine);
  return agreed;
}

void Pulse::start(bool stop_here, const Measures& mine) {
  auto* value = values_.data();
  const auto put = [&](microseconds time) { *value++ = static_cast<std::uint64_t>(time.count()); };
  *value++ = stop_here ? 1U : 0U;
  put(clock_() - start_);
  put(mine.stopped);
  for (const microseconds cost : mine.cost) put(cost);
  for (const microseconds recovery : mine.recovery) put(recovery);
  pending_ = ranks_.iallreduce(values_, Reduce::max);
  started_ = true;
  covered_ = std::exchange(calls_, 0);
}

Pulse::Beat Pulse::beat() const {
  const auto* value = values_.data();
  const auto get = [&] { return microseconds(*value++); };
  Beat beat{};
  beat.stop = *value++ != 0;
  beat.elapsed = get();
  beat.measures.stopped = get();
  for (microseconds& cost : beat.measures.cost) cost = get();
  for (microseconds& recovery : beat.measures.recovery) recovery = get();
  return beat;
}

}  // namespace cairn
