// The session behind the façade: one application rank's calls, with errors as values. session_open.cpp makes its state,
// session_restore.cpp brings a snapshot back.
//
// Belongs to one thread. Every call but protect, unprotect and the queries is collective in time over the
// application ranks; none is a collective operation on the snapshot path.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cairn/session_base.hpp>

#include "base/error.hpp"
#include "engine/messages.hpp"
#include "session/environment.hpp"
#include "session/open_snapshot_impl.hpp"
#include "session/session_state.hpp"

namespace cairn {

class SessionImpl {
 public:
  // Collective over the world. A dedicated head serves its node inside this call and gets nothing.
  static Result<std::unique_ptr<SessionImpl>> open(const Environment& environment);
  ~SessionImpl();

  [[nodiscard]] Status protect(const std::string& name, detail::RegionAccess&& access) {
    return state_.application.regions.protect(name, std::move(access));
  }
  // The path of a file in the node's own store, which is protected from now on. The file of this name stays as it is.
  [[nodiscard]] Result<std::string> scratch_file(const std::string& name, detail::AnyKind kind);
  [[nodiscard]] Status unprotect(const std::string& name) { return state_.application.regions.unprotect(name); }
  [[nodiscard]] Regions& regions() { return state_.application.regions; }
  // What the next snapshot is to have besides regions.
  [[nodiscard]] NextNotes& notes() { return state_.application.notes; }

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
  [[nodiscard]] const std::string& storage_error() const { return state_.application.errors.of_storage; }
  [[nodiscard]] bool should_stop() const { return state_.application.stop; }
  [[nodiscard]] const RestoreReport& last_restore() const { return state_.application.report; }
  [[nodiscard]] Rank rank() const { return state_.application.rank; }
  [[nodiscard]] std::uint32_t size() const { return state_.application.ranks; }
  [[nodiscard]] Comm& ranks() { return state_.ranks(); }
  [[nodiscard]] Incarnation incarnation() const { return state_.application.incarnation; }
  [[nodiscard]] double waited_seconds() const { return state_.application.waited_seconds; }
  [[nodiscard]] bool is_finalized() const { return state_.finalized; }
  [[nodiscard]] const std::shared_ptr<Store>& local_store() const { return state_.connection->local; }
  [[nodiscard]] const Log& log() const { return state_.setting.log; }
  [[nodiscard]] const Config::Job& job() const { return state_.setting.config.job; }
  [[nodiscard]] bool recoverable() const { return state_.setting.recoverable; }
  // Whether the application has restored or taken a snapshot.
  [[nodiscard]] bool is_under_way() const { return state_.application.is_under_way(); }

  // Where only the lost ranks roll back; session_stay.cpp. Null: all roll back.
  [[nodiscard]] rollback::LoggedRank* logged() { return state_.logged.get(); }
  // The application does what is not replayed; see LoggedRank.
  void obstruct(const std::string& what, rollback::Until until) { state_.obstruct(what, until); }
  // After a failure: drops what refers to the world's communicators. Then only reconnect() and the destructor may
  // follow, and calls that fail.
  void disconnect();
  // Joins the repaired world. Collective over it.
  [[nodiscard]] Status reconnect(const Environment& environment);
  // A survivor waits while the lost ranks restore, and ships them what they need. Returns the messages that it has to
  // send again. Collective among the ranks: a replacement does its part in restore().
  [[nodiscard]] Status restore_lost();
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
  void watch_calls(CallWatcher* watcher) { state_.watcher = watcher; }

 private:
  explicit SessionImpl(SessionState state);

  [[nodiscard]] Status decide();
  [[nodiscard]] Result<std::optional<Version>> snapshot_now(std::optional<LevelId> forced);
  [[nodiscard]] Status begin_snapshot();

  // session_stay.cpp
  [[nodiscard]] rollback::LoggedRank::World world_of_ranks();
  [[nodiscard]] bool is_past_call() const;
  [[nodiscard]] LevelSet levels_of_past_call() const;
  void enter_safe_point();
  // `completed`: whether this rank has its objects and files.
  [[nodiscard]] Status begin_log(const Status& completed);
  void go_on_from(const rollback::LoggedRank::Settled& settled);

  // session_restore.cpp
  // What a restore has come to on this rank.
  struct Taken {
    std::uint64_t calls;     // of snapshot(), that the job has made at that safe point
    bool exchanged = false;  // the ranks have exchanged regions
  };
  [[nodiscard]] RestoreResult answer_to(const Offer& offer, const std::string& only,
                                        const std::vector<std::uint64_t>& sizes, Taken& taken);
  [[nodiscard]] Status look_at_stored(const char* call);
  [[nodiscard]] Result<StoredRegions> look_at(const Offer& offer);
  [[nodiscard]] Result<std::uint64_t> take_offer(const Offer& offer, const std::string& only);
  [[nodiscard]] Status complete(const std::string& only, bool restored);
  void accept(const Offer& offer);
  void warm_up_slots();

  SessionState state_;
  OpenSnapshots open_snapshots_;
};

}  // namespace cairn
