#include "schedule/pulse.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "schedule/schedule.hpp"

namespace cairn {

using std::chrono::microseconds;

Pulse::Pulse(Comm& ranks, Clock clock) : ranks_(ranks), clock_(std::move(clock)), start_(clock_()) {}

Result<bool> Pulse::ready() {
  if (!pending_ || done_) return true;
  auto done = pending_->test();
  if (done) done_ = *done;
  return done;
}

Result<std::optional<Pulse::Beat>> Pulse::call(const std::function<Mine()>& mine) {
  std::optional<Beat> agreed;
  ++calls_;
  if (pending_) {
    if (!done_) {
      if (auto status = ranks_.wait(*pending_); !status) return fail(status.error());
    }
    pending_.reset();
    if (const auto error = find_other_call()) {
      period_ = 1;
      return fail(*error);
    }
    agreed = beat();
    period_ = PulsePeriod::next_period(covered_, agreed->elapsed - last_, period_);
    last_ = agreed->elapsed;
    // After a restore, ranks begin with empty logs.
    const std::uint64_t before = std::exchange(last_logged_, agreed->logged);
    const std::uint64_t growth = agreed->logged - (agreed->logged < before ? 0 : before);
    period_ = std::min(period_, PulsePeriod::most_for_log(covered_, growth));
  }
  if (!started_ || calls_ >= period_) {
    start(kSnapshot, mine());
    started_ = true;
    covered_ = std::exchange(calls_, 0);
  }
  return agreed;
}

std::optional<Error> Pulse::find_other_call() const {
  const auto error = [](std::uint64_t rank, const char* call) {
    return Error{Code::invalid_argument, fmt::format("rank {} called {} instead of snapshot()", rank - 1, call),
                 "every application rank must make the same snapshot calls"};
  };
  if (values_[kRestore] != 0) return error(values_[kRestore], "restore()");
  if (values_[kFinalize] != 0) return error(values_[kFinalize], "finalize()");
  return {};
}

Result<bool> Pulse::close(At place) {
  while (true) {
    if (!pending_) {
      start(place == At::restore ? kRestore : kFinalize, {});
      closing_ = true;
    }
    const auto done = ready();
    if (!done || !*done) return done;
    pending_.reset();
    const bool mine = std::exchange(closing_, false);
    if (!mine || values_[kSnapshot] != 0) continue;
    if (place == At::finalize && values_[kRestore] != 0) continue;
    started_ = false;
    calls_ = 0;
    period_ = 1;
    return true;
  }
}

void Pulse::start(Word place, const Mine& mine) {
  values_ = {};
  values_.at(place) = std::uint64_t{ranks_.rank().value} + 1;
  auto* value = values_.data() + kStop;
  const auto put = [&](microseconds time) { *value++ = static_cast<std::uint64_t>(time.count()); };
  *value++ = mine.stop ? 1U : 0U;
  *value++ = mine.log_fills ? 1U : 0U;
  *value++ = mine.logged;
  *value++ = mine.asked_for ? static_cast<std::uint64_t>(*mine.asked_for) : 0;
  put(clock_() - start_);
  put(mine.costs.stopped);
  for (const microseconds cost : mine.costs.cost) put(cost);
  for (const microseconds recovery : mine.costs.recovery) put(recovery);
  pending_ = ranks_.iallreduce(values_, Reduce::max);
  done_ = false;
}

Pulse::Beat Pulse::beat() const {
  const auto* value = values_.data() + kStop;
  const auto get = [&] { return microseconds(*value++); };
  Beat beat{};
  beat.stop = *value++ != 0;
  beat.log_fills = *value++ != 0;
  beat.logged = *value++;
  if (const std::uint64_t level = *value++; level != 0) beat.asked_for = static_cast<LevelId>(level);
  beat.elapsed = get();
  beat.costs.stopped = get();
  for (microseconds& cost : beat.costs.cost) cost = get();
  for (microseconds& recovery : beat.costs.recovery) recovery = get();
  return beat;
}

}  // namespace cairn
