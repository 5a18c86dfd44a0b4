#include "engine/call_watch.hpp"

#include <algorithm>
#include <utility>

#include "format/call_file.hpp"
#include "hang/process_facts.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

bool waits_for_others(const CallRecord& call) {
  const CallKind kind = call.kind;
  const bool waits = kind != CallKind::none && kind != CallKind::other && kind != CallKind::opaque && !is_test(kind);
  return waits && call.ended == 0;
}

// Since when the rank waits; none: it does not.
std::optional<std::int64_t> wait_of(const CallFile& file) {
  std::optional<std::int64_t> since;
  const auto take = [&](std::int64_t began) { since = since ? std::min(*since, began) : began; };
  for (const CallRecord& call : file.lasting)
    if (waits_for_others(call)) take(call.began);
  if (file.cairn.call != CairnCall::none) take(file.cairn.began);
  if (since || file.calls == 0) return since;
  // Tests in a row that ask for the same are one record.
  const CallRecord& newest = file.past[(file.calls - 1) % CallFile::kPast];
  if (is_test(newest.kind) && newest.number > 0) take(newest.began);
  return since;
}

}  // namespace

void CallWatch::look(Rank rank, const std::optional<ProcessState>& process) {
  if (!scratch_) scratch_ = std::make_unique<CallFile>();
  if (!read_last_calls(*store_, names::calls(rank), *scratch_)) {
    seen_.erase(rank);
    return;
  }
  Look look{hang::moment_of(*scratch_), process};
  const auto [there, added] = seen_.try_emplace(rank, Seen{look, std::nullopt, std::nullopt});
  Seen& seen = there->second;
  if (!added) seen.before = std::exchange(seen.last, look);
  seen.waits_since = wait_of(*scratch_);
}

std::vector<std::int64_t> CallWatch::waits() const {
  std::vector<std::int64_t> waits;
  for (const auto& [rank, seen] : seen_)
    if (seen.waits_since) waits.push_back(*seen.waits_since);
  return waits;
}

std::vector<hang::RankReading> CallWatch::readings(std::int64_t now) const {
  std::vector<hang::RankReading> readings;
  for (const auto& [rank, seen] : seen_) {
    const auto file = read_call_file(*store_, names::calls(rank));
    if (!file) continue;
    hang::RankReading reading;
    reading.now = now;
    const Look& before = seen.before ? *seen.before : seen.last;
    reading.calls = hang::condense(**file, before.moment);
    if (const auto& process = seen.last.process) {
      reading.process.state = hang::ProcessFacts::State::dead;
      if (!process->ended()) reading.process = hang::facts_of(before.process, *process);
    }
    readings.push_back(std::move(reading));
  }
  return readings;
}

}  // namespace cairn
