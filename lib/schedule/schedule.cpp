#include "schedule/schedule.hpp"

#include <algorithm>
#include <utility>

namespace cairn {

Schedule::Schedule(const Config::Levels& levels, LevelSet usable, std::uint64_t start_call,
                   std::chrono::microseconds now)
    : start_call_(start_call), start_(now) {
  bool found_first = false;
  for (const auto level : kAllLevels) {
    const auto& interval = levels.of(level);
    if (!usable.has(level) || interval.kind == Interval::Kind::off) continue;
    if (start_call == 0 && level != LevelId::local && !found_first) {
      found_first = true;
      if (interval.kind != Interval::Kind::calls) first_.add(level);
    }
    if (interval.kind == Interval::Kind::calls && interval.calls > 0) counted_.push_back({level, interval.calls});
    if (interval.kind == Interval::Kind::time && interval.time.count() > 0) {
      timed_.push_back({level, interval.time, now + interval.time});
    }
  }
}

LevelSet Schedule::due(std::uint64_t call_number) const {
  LevelSet due;
  if (call_number <= start_call_) return due;
  for (const auto& counted : counted_) {
    if (call_number % counted.calls == 0) due.add(counted.level);
  }
  return due;
}

LevelSet Schedule::due_by_time(std::chrono::microseconds now) {
  LevelSet due;
  for (auto& timed : timed_) {
    if (now < timed.next) continue;
    due.add(timed.level);
    timed.next = start_ + ((now - start_) / timed.interval + 1) * timed.interval;
  }
  return due;
}

LevelSet Schedule::with_first(LevelSet due) {
  due.add(std::exchange(required_, {}));
  if (!due.empty()) due.add(std::exchange(first_, {}));
  return due;
}

std::uint64_t PulsePeriod::next_period(std::uint64_t calls, std::chrono::microseconds elapsed, std::uint64_t present) {
  present = std::clamp(present, kLeast, kMost);
  const auto most = std::min(present * 2, kMost);
  if (calls == 0) return present;
  if (elapsed.count() <= 0) return most;
  // More calls than this within a reduction mean the longest period anyway, and would overflow below.
  constexpr std::uint64_t kManyCalls = 1U << 30U;
  const auto aim = std::min(calls, kManyCalls) * static_cast<std::uint64_t>(kAim.count()) /
                   static_cast<std::uint64_t>(elapsed.count());
  return std::clamp(aim, kLeast, most);
}

std::uint64_t PulsePeriod::most_for_log(std::uint64_t calls, std::uint64_t logged) {
  constexpr std::uint64_t kSixteenth = 1'000'000 / 16;
  if (logged == 0 || calls >= kMost * logged) return kMost;
  return std::clamp(calls * kSixteenth / logged, kLeast, kMost);
}

}  // namespace cairn
