// Notes for ckpt-run --rehearse what this rank does: its calls of the session, and of MPI on the session's
// communicators. All calls of the session go on to the next watcher.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "format/call_record.hpp"
#include "session/call_watcher.hpp"
#include "session/rehearsal_notes.hpp"
#include "tap/observer.hpp"

namespace cairn {

class RehearsalWatch final : public CallWatcher, public tap::Observer {
 public:
  using RegionNames = std::function<std::vector<std::string>()>;
  // `next` may be null.
  RehearsalWatch(const std::string& directory, Rank rank, RegionNames regions, CallWatcher* next);

  void call_begins(CairnCall call, bool another) override;
  void call_ends() override;

  void began(const CallRecord& call) override;
  void ended(const CallRecord& call) override;
  void asked_in_vain(const CallRecord& call) override;
  void posted(const CallRecord& request) override;
  void started(std::uint64_t request) override;
  void awaited(std::uint64_t /*request*/) override {}
  void still_pending(std::uint64_t /*request*/) override {}
  void completed(std::uint64_t request, bool persists) override;
  void lost_count(const CallRecord& message) override;
  void cancelled(std::uint64_t request) override;
  void joined(const CommRecord& /*comm*/) override {}
  void left(std::uint64_t /*comm*/) override {}
  void named(std::uint64_t /*comm*/, std::string_view /*name*/) override {}

 private:
  using Clock = std::chrono::steady_clock;
  void count(const CallRecord& message);
  void is_quiet_no_more();
  void note_late_regions();
  [[nodiscard]] NotedSafePoint safe_point();

  RehearsalWriter writer_;
  RegionNames regions_;
  CallWatcher* next_;
  std::set<std::string> restored_;  // regions that a restore() has filled, or that are noted as late
  bool restores_ = false;           // has called restore()
  std::mutex mutex_;                // of all below: several threads may make calls
  std::map<std::uint64_t, CallRecord> requests_;
  NotedSafePoint counts_;
  Clock::time_point last_call_ = Clock::now();
  Clock::duration longest_quiet_{};
};

}  // namespace cairn
