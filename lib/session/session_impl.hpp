// The session behind the façade: one application rank's calls, with errors as values. It has three parts, by lifetime:
// the Setting never changes; the Application lives as long as the session; the Connection ends with the communicators.
// session_open.cpp makes the parts, session_restore.cpp brings a snapshot back.
//
// Belongs to one thread. Every call but protect, unprotect and the queries is collective in time over the
// application ranks; none is a collective operation on the snapshot path.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <cairn/session_base.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "config/config.hpp"
#include "engine/messages.hpp"
#include "format/shard.hpp"
#include "reshape/finding.hpp"
#include "rollback/logged_rank.hpp"
#include "session/application.hpp"
#include "session/call_watcher.hpp"
#include "session/connection.hpp"
#include "session/environment.hpp"
#include "session/open_snapshot_impl.hpp"

namespace cairn {

class OfferedShards;

class SessionImpl {
 public:
  // Collective over the world. A dedicated head serves its node inside this call and gets nothing.
  static Result<std::unique_ptr<SessionImpl>> open(const Environment& environment);
  ~SessionImpl();

  [[nodiscard]] Status protect(const std::string& name, detail::RegionAccess access) {
    return application_.regions.protect(name, std::move(access));
  }
  // The path of a file in the node's own store, which is protected from now on. The file of this name stays as it is.
  [[nodiscard]] Result<std::string> scratch_file(const std::string& name, detail::AnyKind kind);
  [[nodiscard]] Status unprotect(const std::string& name) { return application_.regions.unprotect(name); }
  [[nodiscard]] Regions& regions() { return application_.regions; }
  // What the next snapshot is to have besides regions.
  [[nodiscard]] NextNotes& notes() { return application_.notes; }

  // An empty name: all regions. `chosen` has the version or label that the program has chosen, if any; otherwise it is
  // the newest, or the one that the user has chosen.
  [[nodiscard]] Result<RestoreReport> restore(const std::string& only, const RestoreRequest& chosen);
  // The number of elements of this rank's region in the snapshot that restore() would restore; nothing: no such region.
  [[nodiscard]] Result<std::optional<std::uint64_t>> stored(const std::string& name);
  // The same of all ranks together.
  [[nodiscard]] Result<std::optional<std::uint64_t>> stored_total(const std::string& name);
  // Opens a snapshot without restoring it; `chosen` as above. Collective. session_reading.cpp.
  [[nodiscard]] Result<std::unique_ptr<OpenSnapshotImpl>> open_snapshot(const RestoreRequest& chosen);
  // Returns whether all ranks find it good. The session has closed it afterwards, also after an error. Collective.
  [[nodiscard]] Result<bool> close_snapshot(OpenSnapshotImpl& open, bool good);
  // Closes it on this rank. Local.
  void drop(OpenSnapshotImpl& open);
  // Whether the next snapshot() takes one. That decision is made here, and snapshot() keeps to it.
  [[nodiscard]] Result<bool> due();
  // `forced`: a level that this snapshot is for, due or not.
  [[nodiscard]] Result<std::optional<Version>> snapshot(std::optional<LevelId> forced);
  [[nodiscard]] Status wait(LevelId level);
  [[nodiscard]] Result<Version> safe_version(LevelId level);
  [[nodiscard]] Status finalize();
  // Ends the session of this rank as it is, without the others: unfinished snapshots are lost. Local.
  enum class Abandoned { dropped, mpi_ended };
  void abandon(Abandoned how);

  // Reports this rank to its head, for fault localization. Local.
  [[nodiscard]] Status suspect(const std::string& text);

  // The text of the last storage error of a snapshot in this session; empty: none.
  [[nodiscard]] const std::string& storage_error() const { return application_.errors.of_storage; }
  [[nodiscard]] bool should_stop() const { return application_.stop; }
  [[nodiscard]] const RestoreReport& last_restore() const { return application_.report; }
  [[nodiscard]] Rank rank() const { return application_.rank; }
  [[nodiscard]] std::uint32_t size() const { return application_.ranks; }
  [[nodiscard]] Comm& ranks() { return *connection_->membership->ranks; }
  [[nodiscard]] Incarnation incarnation() const { return application_.incarnation; }
  [[nodiscard]] double waited_seconds() const { return application_.waited_seconds; }
  [[nodiscard]] bool is_finalized() const { return finalized_; }
  [[nodiscard]] const std::shared_ptr<Store>& local_store() const { return connection_->local; }
  [[nodiscard]] const Log& log() const { return setting_.log; }
  [[nodiscard]] bool hears_mpi() const { return setting_.config.job.tap; }
  [[nodiscard]] bool recoverable() const { return setting_.recoverable; }
  // Whether the application has restored or taken a snapshot.
  [[nodiscard]] bool is_under_way() const { return application_.is_under_way(); }

  // Where only the lost ranks roll back; session_stay.cpp. Null: all roll back.
  [[nodiscard]] rollback::LoggedRank* logged() { return logged_.get(); }
  // The application does what is not replayed; see LoggedRank.
  void obstruct(const std::string& what, rollback::Until until) {
    if (logged_) logged_->obstruct(what, until);
  }
  // After a failure: drops what refers to the world's communicators. Then only reconnect() and the destructor may
  // follow, and calls that fail.
  void disconnect();
  // Joins the repaired world. Collective over it.
  [[nodiscard]] Status reconnect(const Environment& environment);
  // A survivor waits while the lost ranks restore, and ships them what they need. Returns the messages that it has to
  // send again. Collective among the ranks: a replacement does its part in restore().
  [[nodiscard]] Result<std::vector<replay::Repeated>> restore_lost();
  // Compares what ranks have exchanged, if some have rolled back alone. Collective among them.
  [[nodiscard]] Status check_messages();

  // The node of this rank, and who acts for it.
  struct HeadFacts {
    NodeId node;
    std::int32_t process = 0;  // on this host; 0: not known, or it works in the calls of `rank`
    std::optional<Rank> rank;  // in whose process it is; none: a process of its own
  };
  [[nodiscard]] HeadFacts head() const;
  // Calls of this rank are reported to `watcher`, until it is taken away (null).
  void watch_calls(CallWatcher* watcher) { watcher_ = watcher; }

 private:
  // What the session was opened with, and does not change.
  struct Setting {
    Config config;
    Log log;
    Clock clock;
    LeaveMark leave_mark;      // on application rank 0; empty: no reports
    bool recoverable = false;  // the job repairs itself
    std::string rehearsal;     // as Environment::rehearsal
  };
  SessionImpl(Setting setting, Application application, std::unique_ptr<rollback::LoggedRank> logged,
              std::unique_ptr<Connection> connection);

  [[nodiscard]] Status decide();
  [[nodiscard]] Result<std::optional<Version>> snapshot_now(std::optional<LevelId> forced);
  [[nodiscard]] Status usable_now(const char* call) const;
  [[nodiscard]] Status all_take_part() const;
  [[nodiscard]] Status begin_snapshot();
  [[nodiscard]] Result<LevelSet> levels_due();
  [[nodiscard]] Result<LevelSet> levels_by_rule();
  [[nodiscard]] Status wait_for_slot();
  [[nodiscard]] Status write(Version version, LevelSet levels);
  [[nodiscard]] Result<std::uint64_t> try_to_write_shard_of(Version version);
  [[nodiscard]] Result<std::uint64_t> write_shard_of(Version version);
  [[nodiscard]] Status run_head(Version version);
  std::chrono::microseconds take_promotions();
  [[nodiscard]] Status report_auto_levels();
  [[nodiscard]] bool goes_on_after(const Error& error);
  [[nodiscard]] Status report_errors();
  void forget_marked_error();
  [[nodiscard]] Status newest_is_safe() const;
  void leave_mark(CompletionMark::Kind kind) const;
  void leave_mark(CompletionMark::Kind kind, const Error& error) const;
  void leave_mark_of(const Error& error) const;

  // session_stay.cpp
  [[nodiscard]] bool stays_after(const Error& error) { return logged_ && logged_->stays_after(error); }
  [[nodiscard]] bool is_replacement() const { return logged_ && logged_->replaces(); }
  [[nodiscard]] rollback::LoggedRank::World world_of_ranks();
  [[nodiscard]] bool is_past_call() const;
  [[nodiscard]] LevelSet levels_of_past_call() const;
  [[nodiscard]] Status wait_until(const std::function<bool()>& done, const std::string& call,
                                  HeadLink::WokenBy woken_by = HeadLink::WokenBy::head);
  void enter_safe_point();
  [[nodiscard]] LevelId level_that_cuts_the_log();
  // `completed`: whether this rank has its objects and files.
  [[nodiscard]] Status begin_log(const Status& completed);
  void go_on_from(const rollback::LoggedRank::Settled& settled);

  // session_restore.cpp
  enum class Restores { all, replacements };
  [[nodiscard]] RestoreResult refused(const Error& error) const;
  // What a restore has come to on this rank.
  struct Taken {
    std::uint64_t calls;     // of snapshot(), that the job has made at that safe point
    bool exchanged = false;  // the ranks have exchanged regions
  };
  [[nodiscard]] RestoreResult answer_to(const Offer& offer, const std::string& only,
                                        const std::vector<std::uint64_t>& sizes, Taken& taken);
  [[nodiscard]] Result<Offer> settle_offer(const std::function<RestoreResult(const Offer&)>& answer,
                                           const RestoreRequest& request, Restores who);
  [[nodiscard]] RestoreRequest request_for(const RestoreRequest& chosen) const;
  [[nodiscard]] bool may_exchange(const Offer& offer) const;
  [[nodiscard]] Status look_at_stored(const char* call);
  [[nodiscard]] Result<StoredRegions> look_at(const Offer& offer);
  [[nodiscard]] Result<std::uint64_t> take_offer(const Offer& offer, const std::string& only);
  [[nodiscard]] Status complete(const std::string& only, bool restored);
  [[nodiscard]] Status undefined_after(Error error, bool all_are_here);
  void accept(const Offer& offer);
  void warm_up_slots();

  // session_elastic.cpp
  enum class OfferCall { restore = 1, restore_one, stored };
  struct Exchange {
    enum class Way {
      own_shards,  // each rank reads its own shard
      exchange,
      again,  // shards are damaged: the heads offer the snapshot again
    } way;
    std::uint64_t safe_point;
  };
  // Finds out what to do with what was offered, the same on all ranks. An error: on all, too. Collective among them.
  [[nodiscard]] Result<Exchange> prepare_exchange(const Offer& offer, OfferedShards& shards, OfferCall call);
  [[nodiscard]] std::optional<RestoreResult> exchange_offered(const Offer& offer, const std::string& only,
                                                              std::uint64_t& calls);
  // An answer of stored(); nothing: all is well. Of another number of ranks, `found` gets what this rank was offered.
  [[nodiscard]] std::optional<RestoreResult> look_for_exchange(const Offer& offer, StoredRegions& found);
  [[nodiscard]] Result<reshape::Findings> move_regions(Comm& ranks, const Offer& offer, OfferedShards& shards);

  [[nodiscard]] HeadLink& link() { return *connection_->link; }
  [[nodiscard]] const HeadLink& link() const { return *connection_->link; }
  [[nodiscard]] Pulse* pulse() { return connection_->pulse ? &*connection_->pulse : nullptr; }

  const Setting setting_;
  Application application_;
  CallWatcher* watcher_ = nullptr;
  std::unique_ptr<rollback::LoggedRank> logged_;
  std::unique_ptr<Connection> connection_;  // destroyed before the others, so that the head is notified first
  OpenSnapshots open_snapshots_;
  bool finalized_ = false;
};

}  // namespace cairn
