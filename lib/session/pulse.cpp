#include "session/pulse.hpp"

#include <utility>

#include "session/schedule.hpp"

namespace cairn {

Pulse::Pulse(Comm& ranks, Clock clock) : ranks_(ranks), clock_(std::move(clock)), start_(clock_()) {}

Result<std::optional<Pulse::Beat>> Pulse::call(bool stop_here) {
  std::optional<Beat> beat;
  ++calls_;
  if (pending_) {
    if (auto status = ranks_.wait(*pending_); !status) return fail(status.error());
    pending_.reset();
    beat = Beat{std::chrono::milliseconds(values_[0]), values_[1] != 0};
    period_ = PulsePeriod::next_period(calls_, beat->elapsed - last_, period_);
    last_ = beat->elapsed;
    calls_ = 0;
  }
  if (!beat && calls_ >= period_) {
    values_ = {static_cast<std::uint64_t>((clock_() - start_).count()), stop_here ? 1U : 0U};
    pending_ = ranks_.iallreduce(values_, Reduce::max);
  }
  return beat;
}

}  // namespace cairn
