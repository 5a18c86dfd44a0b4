#include "opening/rehearsal_watch.hpp"

#include <algorithm>
#include <utility>

#include "tap/hear.hpp"

namespace cairn {
namespace {

bool is_message(const CallRecord& call) { return call.kind == CallKind::send || call.kind == CallKind::receive; }

std::string name_of_call(const CallRecord& call) {
  const auto names = tap::call_names();
  return call.call < names.size() ? names[call.call] : "MPI";
}

}  // namespace

RehearsalWatch::RehearsalWatch(const std::string& directory, Rank rank, RegionNames regions, CallWatcher* next)
    : writer_(directory, rank), regions_(std::move(regions)), next_(next) {}

void RehearsalWatch::call_begins(CairnCall call, bool another) {
  const std::lock_guard guard(mutex_);
  is_quiet_no_more();
  if (another && call == CairnCall::snapshot) {
    note_late_regions();
    writer_.comes_to(safe_point());
  } else if (another && call == CairnCall::restore) {
    restores_ = true;
    for (std::string& name : regions_()) restored_.insert(std::move(name));
    writer_.restores();
  } else if (another && call == CairnCall::finalize) {
    writer_.finalizes(std::chrono::duration_cast<std::chrono::milliseconds>(longest_quiet_));
  }
  if (next_ != nullptr) next_->call_begins(call, another);
}

void RehearsalWatch::call_ends() {
  const std::lock_guard guard(mutex_);
  last_call_ = Clock::now();
  if (next_ != nullptr) next_->call_ends();
}

void RehearsalWatch::note_late_regions() {
  if (!restores_) return;
  for (const std::string& name : regions_()) {
    if (restored_.insert(name).second) writer_.is_late(name);
  }
}

NotedSafePoint RehearsalWatch::safe_point() {
  NotedSafePoint at = counts_;
  for (const auto& [number, request] : requests_) {
    if (request.active == 0) continue;
    ++at.pending;
    if (at.call.empty()) at.call = name_of_call(request);
  }
  return at;
}

void RehearsalWatch::is_quiet_no_more() {
  longest_quiet_ = std::max(longest_quiet_, Clock::now() - last_call_);
  last_call_ = Clock::now();
}

void RehearsalWatch::count(const CallRecord& message) {
  if (!is_message(message) || message.peer == kNoPeer) return;
  if (message.kind == CallKind::receive)
    ++counts_.received;
  else
    ++counts_.sent[Rank{static_cast<std::uint32_t>(message.peer)}];
}

void RehearsalWatch::began(const CallRecord& call) {
  const std::lock_guard guard(mutex_);
  is_quiet_no_more();
  count(call);
}

void RehearsalWatch::ended(const CallRecord& /*call*/) {
  const std::lock_guard guard(mutex_);
  last_call_ = Clock::now();
}

void RehearsalWatch::asked_in_vain(const CallRecord& /*call*/) {
  const std::lock_guard guard(mutex_);
  is_quiet_no_more();
}

void RehearsalWatch::posted(const CallRecord& request) {
  const std::lock_guard guard(mutex_);
  requests_[request.request] = request;
  if (request.active != 0) count(request);
}

void RehearsalWatch::started(std::uint64_t request) {
  const std::lock_guard guard(mutex_);
  const auto known = requests_.find(request);
  if (known == requests_.end()) return;
  known->second.active = 1;
  count(known->second);
}

void RehearsalWatch::completed(std::uint64_t request, bool persists) {
  const std::lock_guard guard(mutex_);
  const auto known = requests_.find(request);
  if (known == requests_.end()) return;
  known->second.active = 0;
  if (!persists) requests_.erase(known);
}

void RehearsalWatch::lost_count(const CallRecord& /*message*/) {
  const std::lock_guard guard(mutex_);
  counts_.counted = false;
}

void RehearsalWatch::cancelled(std::uint64_t /*request*/) {
  const std::lock_guard guard(mutex_);
  counts_.counted = false;
}

}  // namespace cairn
