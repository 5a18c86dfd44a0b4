// The engine does everything beyond the first copy, on behalf of one node: it digests sealed shards, writes manifests,
// agrees with the other heads, promotes snapshots to higher levels, retires old ones, and brings them back. A
// dedicated head rank, a progress thread or a blocking call may run it; the code is the same.
//
// It is driven by step(), which does one piece of work and says whether there was any. While a promotion waits or
// moves data, newer snapshots are still sealed. Nothing is retired but after a successful vote of all heads.
//
// One thread. open() and the work inside step() are collective among heads, who all see the same snapshots in the
// same order. An error of a snapshot is sent to the node's ranks; only the loss of a peer ends the engine.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <cairn/failure_topology.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/trace.hpp"
#include "comm/comm.hpp"
#include "engine/inquiry.hpp"
#include "engine/messages.hpp"
#include "engine/silence.hpp"
#include "engine/vote.hpp"
#include "level/level.hpp"
#include "recover/chain.hpp"
#include "recover/inventory.hpp"
#include "recover/retention.hpp"
#include "recover/retrieve.hpp"
#include "recover/roll_call.hpp"
#include "recover/store_memory.hpp"
#include "topology/layout.hpp"
#include "topology/topology.hpp"

namespace cairn {

// What the engine takes from the configuration.
struct EngineOptions {
  std::string job;
  LayoutWishes wishes;
  KeepCounts keep;
  enum class Start { automatic, fresh, required } start = Start::automatic;
  bool finished_at_end = true;  // else the chain goes on
  bool verify_own = false;
  bool log_storage_errors = false;  // of snapshots: no call of the application throws them
  bool level_by_level = false;      // the level to restart from is found by trying them (recover/level_rounds)
  std::uint32_t threads = 1;        // that this head may use, its own included
};

struct EngineSetup {
  Comm& control;  // ranks and heads, by world rank
  Comm& heads;    // member i is the head of node i
  Comm& votes;    // the same members; carries votes only
  const Topology& topology;
  EngineOptions options;
  std::shared_ptr<Store> local;
  std::shared_ptr<Store> global;
  Sealer sealer;  // of the job's chain marks; everything else is sealed for the chain
  FailureTopology failures;
  Log log;
  Trace trace;
  std::shared_ptr<StoreMemory> memory;  // kept beyond this life; null: nothing is
  Clock clock;
  std::optional<Error> unable = std::nullopt;  // why this node cannot take part: then all are told so
};

class Engine {
 public:
  // Waits for every rank of the node to say hello, opens the stores, learns the inventory, agrees on identity and
  // layout, and answers the ranks. Collective among heads; on failure all ranks have been told.
  static Result<std::unique_ptr<Engine>> open(EngineSetup setup);
  ~Engine();

  // Does one piece of work, if there is any; false: nothing to do now. An error is final. Raising a snapshot is work in
  // which heads wait for each other. Those that compute besides leave what a restore has given them to raise until all
  // of them have voted on a version, or that none is left: each waits in a call then, and goes on until all is raised.
  enum class Heads { serve, compute };
  [[nodiscard]] Result<bool> step(Heads heads);
  // True while something is under way that others may wait for.
  [[nodiscard]] bool busy() const;
  // True while snapshots up to `version` are being sealed or promoted. Later ones may wait for who asks.
  [[nodiscard]] bool busy_with(Version version) const;
  [[nodiscard]] bool finished() const { return finished_; }
  // Steps until the ranks are finalized; sleeps on the node's bell while there is nothing to do.
  [[nodiscard]] Status serve();
  // Tells the other heads and the ranks of this node that nobody acts for the node any more, which ends their engines.
  // For a rank that is a head besides, and drops its session. Local.
  void leave();

 private:
  // A snapshot being sealed, until the heads have voted on it.
  struct Sealing {
    std::uint64_t safe_point = 0;
    LevelSet levels;
    std::uint64_t bytes = 0;
    std::set<Rank> ranks;
    std::optional<Error> error;
    Vote vote;
    // What is voted on: whether the life may begin, where that is not known yet; whether all nodes have sealed it; and,
    // of a chain's first snapshot, whether it is recorded that there are some.
    enum class Step { begin, seal, record } step = Step::seal;
    std::unique_ptr<Request> voting;
    Trace::Span vote_span;
  };
  // A snapshot with a manifest in this node's store, or none yet (then only others hold it).
  struct Known {
    NodeManifest manifest;
    LevelSet complete;
    LevelSet struck;                    // it would be complete there but for files that were found bad
    LevelSet today;                     // of those complete, by today's layout alone; once restored
    LevelSet due;                       // promotions to come
    LevelSet asked;                     // all that were to come when it was sealed in this life
    LevelSet rebuilt;                   // those of them that rebuild what was lost
    bool rebuild_failed = false;        // of one of those
    bool lost = false;                  // a node has lost its part of it, and all heads know
    std::optional<std::uint64_t> turn;  // L2 placement that it has already
  };

  explicit Engine(EngineSetup setup);

  // engine_open.cpp
  [[nodiscard]] Status hear_hellos();
  [[nodiscard]] Status take_stock();
  [[nodiscard]] Status look_around();
  [[nodiscard]] Status start_life();
  [[nodiscard]] Status heed_unreadable();
  [[nodiscard]] Status check_stores_belong();
  [[nodiscard]] Status choose_layout();
  [[nodiscard]] Status take_inventory();

  // engine.cpp
  void break_silence();
  [[nodiscard]] Inquiry::Ways ways();
  [[nodiscard]] std::string doing() const;
  [[nodiscard]] bool is_dropped() const;
  void break_down(const Error& error);
  [[nodiscard]] Result<bool> receive();
  [[nodiscard]] Status handle(Peer from, ToHead message);
  void handle(Rank from, ToHead message);
  void keep(const Measured& measured);
  void tell(Rank rank, const ToRank& message);
  void tell_all(const ToRank& message);

  // engine_seal.cpp
  void tick();
  void hear_seal(Rank from, const Seal& seal);
  [[nodiscard]] Result<bool> advance_seals();
  [[nodiscard]] bool start_vote();
  void note_losses(Vote& vote);
  void heed_losses(const Vote& vote);
  [[nodiscard]] Result<bool> conclude_votes();
  [[nodiscard]] bool waits_for_something_else(Rank rank) const;
  [[nodiscard]] bool nothing_is_left() const;
  [[nodiscard]] Status begin_here(const Sealing& sealing);
  [[nodiscard]] Status seal_here(Version version, Sealing& sealing);
  void log_storage_error(bool here, const Error& error) const;
  void sealing_voted(Version version, Sealing& sealing);
  void call_vote(Version version, Sealing& sealing, const Status& mine);
  [[nodiscard]] bool goes_on(Version version, Sealing& sealing);
  [[nodiscard]] Status record_first_snapshot();
  void note_first_snapshot();
  void check_space(const Sealing& sealing);

  // engine_promote.cpp
  [[nodiscard]] Result<bool> promote_next();
  [[nodiscard]] Status promote(Known& known, LevelId level);
  [[nodiscard]] Status protect(Known& known, LevelId level, std::uint64_t turn);
  [[nodiscard]] std::vector<Rank> find_damaged(const Identity& snapshot, const std::vector<ShardEntry>& shards) const;
  [[nodiscard]] Status look_for_damage(Known& known, const Error& error);
  static void strike(Known& known, LevelSet levels);
  void drop_old_layouts(Known& known);
  [[nodiscard]] Status drop_old(Known& known, LayoutId layout);
  void retire_old();
  void retire_orphans();
  void retire_damaged(const Known& newer);
  [[nodiscard]] bool is_unreadable(const DirName& dir) const;
  [[nodiscard]] Status retire(const DirName& dir);
  [[nodiscard]] Status keep(const NodeManifest& manifest);
  [[nodiscard]] std::vector<KnownSnapshot> known_snapshots() const;

  // engine_restore.cpp
  [[nodiscard]] Result<bool> answer_restore();
  [[nodiscard]] Status offer();
  void refuse_restore(const Error& error);
  [[nodiscard]] Result<Offer> prepare_offer();
  [[nodiscard]] Result<Plan> make_plan_to_offer();
  [[nodiscard]] Result<bool> forget_what_is_damaged(const Identity& snapshot);
  void log_sources() const;
  [[nodiscard]] bool nothing_was_sealed() const;
  [[nodiscard]] bool began_fresh() const { return record_.parent == RunRecord::Parent::fresh; }
  [[nodiscard]] Status check_nothing_unreadable();
  [[nodiscard]] Result<Offer> fresh_offer(Offer offer);
  [[nodiscard]] Status conclude_restore();
  void heed_strikes();
  [[nodiscard]] Status adopt(const Plan& plan, std::uint64_t safe_point);
  [[nodiscard]] Result<std::uint64_t> read_safe_point(const Plan& plan) const;
  [[nodiscard]] LevelSet levels_to_rebuild(const Inventory& inventory, const Identity& snapshot, bool moved) const;

  // engine_record.cpp
  [[nodiscard]] Status mark_store();
  [[nodiscard]] Status begin_life();
  [[nodiscard]] Status write_record();
  [[nodiscard]] Status renew_records();
  [[nodiscard]] Status record_parent(RunRecord::Parent parent, const Identity& snapshot);

  // engine_finish.cpp
  [[nodiscard]] Result<bool> finish();
  [[nodiscard]] Status end();
  [[nodiscard]] Status compare_calls();
  [[nodiscard]] bool has_nothing_of_its_own() const;
  [[nodiscard]] Status end_chain(bool keep_going);
  [[nodiscard]] Status raise_state();

  [[nodiscard]] bool leads() const { return node_.me.value == 0; }
  [[nodiscard]] Identity identity(Version version) const { return {node_.incarnation, version, node_.run}; }

  EngineSetup setup_;
  std::vector<Rank> ranks_;  // of this node
  std::unique_ptr<Lock> lock_;
  std::shared_ptr<Bell> bell_;
  Silence silence_;
  Inquiry inquiry_;
  NodeContext node_;
  LevelSet usable_;
  std::map<LevelId, std::unique_ptr<Level>> levels_;
  std::map<LevelId, std::uint64_t> turns_;  // promotions so far

  StoreContents contents_;
  std::optional<RollCall> roll_;  // until its holdings are out of date
  Chain chain_;
  RunRecord record_;
  bool recorded_ = false;             // this life is in the global store; on head 0
  bool begun_ = false;                // the same, as all heads know it: from now on they write to their stores
  ChainMark mark_;                    // of the chain that this life goes on with or begins
  bool marked_ = false;               // this node's store has it
  std::optional<Measured> measured_;  // in this life, on the head that was told
  Version last_version_;
  bool unreadable_ = false;  // something that a restart would look at cannot be read; the same on all heads

  std::map<Version, Sealing> sealing_;
  // The vote that no version is left, while ranks wait for a restore or for the end.
  std::optional<Vote> closing_;
  std::unique_ptr<Request> closing_vote_;
  bool closed_ = false;
  std::optional<Error> different_calls_;  // of those who wait: some for a restore, others for the end
  bool all_voted_ = false;                // since the last restore
  std::map<Identity, Known> known_;
  std::optional<Identity> state_;  // the job's: the snapshot sealed or restored last
  std::deque<Identity> promotions_;
  std::set<Rank> hellos_;
  std::optional<Error> hello_error_;
  std::set<Rank> restore_requests_;
  std::map<Rank, std::optional<Error>> restore_results_;
  std::optional<RetrieveState> retrieval_;
  std::optional<Plan> plan_;
  bool fresh_offered_ = false;
  bool regions_touched_ = false;  // ranks were offered a snapshot in this restore
  std::map<Rank, FinalizeRequest> finalize_requests_;
  std::optional<Error> broken_;
  bool in_tick_ = false;
  bool space_checked_ = false;
  bool finished_ = false;
};

}  // namespace cairn
