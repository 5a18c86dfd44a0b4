// The session behind the façade: one application rank's regions, schedule and line to its head, with errors as values.
// session_open.cpp turns a world of ranks into heads and application ranks, session_restore.cpp brings a snapshot back.
//
// Belongs to one thread. Every call but protect, unprotect and the queries is collective in time over the
// application ranks; none is a collective operation on the snapshot path.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <cairn/failure_topology.hpp>
#include <cairn/session_base.hpp>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/trace.hpp"
#include "comm/comm.hpp"
#include "config/config.hpp"
#include "engine/engine.hpp"
#include "schedule/auto_levels.hpp"
#include "schedule/pulse.hpp"
#include "schedule/schedule.hpp"
#include "session/handover.hpp"
#include "session/head_link.hpp"
#include "session/regions.hpp"
#include "session/slot_warmer.hpp"
#include "store/store.hpp"
#include "topology/topology.hpp"

namespace cairn {

// What is known already where a job repairs itself while it runs: the loss of a peer then sends everyone back to the
// last snapshot, and is not an error.
struct RepairedWorld {
  Config config;
  std::vector<Seat> seats;  // by world rank
};

// What a session runs on.
struct Environment {
  Comm& world;  // the caller's; must outlive the session
  std::string host;
  std::string config_file;  // read on world rank 0; empty: defaults
  std::function<Result<std::shared_ptr<Store>>(const Config&, const Topology&, NodeId)> open_local;
  std::function<Result<std::shared_ptr<Store>>(const Config&)> open_global;
  // Whether a thread may communicate beside this one: [head] mode = thread needs it.
  bool threads_may_communicate = false;
  FailureTopology failures;
  Clock clock;
  // What this process remembers of its node's store, to be given to the next session too; null: nothing.
  std::shared_ptr<StoreMemory> memory;
  // Told on rank 0 that the session was opened, and how the job ends, or will end: for whoever started it. Empty:
  // nobody asks.
  std::function<void(const CompletionMark&)> leave_mark = {};
  std::optional<RepairedWorld> repaired = std::nullopt;
  // What was started for this session, which must have just that; none: it is not known.
  std::optional<StartedNumbers> started = std::nullopt;
  // An earlier life of this run has taken snapshots: that the first was to start anew is done.
  bool goes_on = false;
};

// The configuration as it is read on rank 0, so that every rank has the same or the same error. Collective.
[[nodiscard]] Result<ConfigSource> share_config_source(Comm& world, const std::string& file);
// The hosts of all ranks, by rank. Collective.
[[nodiscard]] Result<std::vector<std::string>> share_hosts(Comm& world, const std::string& host);

class SessionImpl {
 public:
  // Collective over the world. A dedicated head serves its node inside this call and gets nothing.
  static Result<std::unique_ptr<SessionImpl>> open(const Environment& environment);
  ~SessionImpl();

  [[nodiscard]] Status protect(const std::string& name, detail::RegionAccess access) {
    return regions_.protect(name, std::move(access));
  }
  [[nodiscard]] Status unprotect(const std::string& name) { return regions_.unprotect(name); }

  // An empty name: all regions.
  [[nodiscard]] Result<RestoreReport> restore(const std::string& only);
  // `forced`: a level that this snapshot is for, due or not.
  [[nodiscard]] Result<std::optional<Version>> snapshot(std::optional<LevelId> forced);
  [[nodiscard]] Status wait(LevelId level);
  [[nodiscard]] Result<Version> safe_version(LevelId level);
  [[nodiscard]] Status finalize();

  // The text of the last error of a snapshot that failed for storage, in this session; empty: none.
  [[nodiscard]] const std::string& storage_error() const { return storage_error_; }
  [[nodiscard]] bool should_stop() const { return stop_; }
  [[nodiscard]] const RestoreReport& last_restore() const { return report_; }
  [[nodiscard]] Comm& ranks() { return *ranks_; }
  [[nodiscard]] Incarnation incarnation() const { return incarnation_; }
  [[nodiscard]] double waited_seconds() const { return waited_seconds_; }
  [[nodiscard]] bool recoverable() const { return recoverable_; }
  // Whether the application has restored or taken a snapshot.
  [[nodiscard]] bool is_under_way() const { return restored_ || calls_ > 0; }

 private:
  struct Open;  // session_open.cpp
  explicit SessionImpl(Config config) : config_(std::move(config)), log_(config_.log.level) {}

  [[nodiscard]] Status usable_now(const char* call) const;
  [[nodiscard]] Result<LevelSet> levels_due(std::optional<LevelId> forced);
  [[nodiscard]] Status wait_for_slot();
  [[nodiscard]] Status write(Version version, LevelSet levels);
  [[nodiscard]] Status run_head(Version version);
  std::chrono::microseconds hear_promotions();
  [[nodiscard]] Status tell_of_auto();
  [[nodiscard]] bool goes_on_after(const Error& error);
  [[nodiscard]] Status report_errors();
  [[nodiscard]] Status newest_is_safe() const;
  void leave_mark_of(const Error& error) const;
  [[nodiscard]] std::uint32_t free_slots() const { return slots_ - std::min(slots_, link_->outstanding()); }

  // session_restore.cpp
  [[nodiscard]] Result<std::uint64_t> take_offer(const Offer& offer, const std::string& only);
  void accept(const Offer& offer);
  void warm_up_slots();

  Config config_;
  Log log_;
  Trace trace_;
  Clock clock_;
  std::function<void(const CompletionMark&)> leave_mark_;  // on application rank 0
  Topology topology_;
  std::unique_ptr<Comm> control_;
  std::unique_ptr<Comm> ranks_;
  std::unique_ptr<Comm> heads_;  // where this process runs an engine
  std::unique_ptr<Comm> votes_;
  std::shared_ptr<Store> local_;
  std::shared_ptr<Store> global_;
  std::unique_ptr<HeadLink> link_;
  std::unique_ptr<Engine> engine_;  // [head] mode = inline, on the node's first rank
  std::thread engine_thread_;       // [head] mode = thread, likewise
  std::optional<SlotWarmer> warmer_;

  Rank rank_;
  Incarnation incarnation_;
  RunId run_;
  LevelSet usable_;
  std::uint32_t slots_ = 0;
  Version last_version_;
  std::uint64_t calls_ = 0;                   // of snapshot(), in the life of the chain
  std::array<Version, kLevels + 1> meant_{};  // newest version meant for each level

  Regions regions_;
  std::uint64_t shard_bytes_ = 0;  // of the last snapshot
  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<Pulse> pulse_;
  std::unique_ptr<AutoLevels> auto_;  // where some level is `auto`
  RestoreReport report_;
  std::string storage_error_;
  std::optional<Error> undefined_;  // a restore failed: regions hold nothing that should be kept
  double waited_seconds_ = 0;
  bool recoverable_ = false;
  bool restored_ = false;  // also where there was nothing to restore
  bool stop_ = false;
  bool finalized_ = false;
};

}  // namespace cairn
