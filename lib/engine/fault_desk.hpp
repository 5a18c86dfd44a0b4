// Fault localization on the head of a node (localize/): watches the node's processes and store, reports what seems
// wrong, analyses other nodes, answers their probes, and reports verdicts. Only heads that do nothing else have one.
//
// The engine gives it its turn when there is nothing else to do, and while it waits. One turn costs a test of the
// clock; every second it looks at /proc. Heads send each other nothing while nothing seems wrong. A verdict goes to the
// log, the trace, and health.json in the global store; and all ranks may be asked for a snapshot because of it. Local:
// it never waits for anybody.
//
// Messages carry the life and the run, since those of an earlier session may still arrive.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/process_state.hpp"
#include "base/symptom.hpp"
#include "base/trace.hpp"
#include "engine/blockers.hpp"
#include "engine/call_watch.hpp"
#include "engine/head.hpp"
#include "engine/health_keeper.hpp"
#include "engine/heartbeats.hpp"
#include "engine/node_watch.hpp"
#include "engine/parts.hpp"
#include "engine/process_watch.hpp"
#include "engine/sent_watch.hpp"
#include "engine/store_watch.hpp"
#include "engine/suspicion_box.hpp"
#include "engine/symptom_spool.hpp"
#include "engine/transfer_watch.hpp"
#include "engine/watch_keeper.hpp"
#include "localize/action.hpp"
#include "localize/localizer.hpp"
#include "localize/words.hpp"
#include "recover/catalog.hpp"
#include "store/watched_store.hpp"

namespace cairn {

class FaultDesk final : public SymptomPort, private localize::Port, private localize::Host {
 public:
  // Whether it is on, and this head does nothing else. Requires: the head knows its node.
  [[nodiscard]] static bool runs_here(const Head& head);
  // Where it looks.
  struct Sources {
    LookAtProcess look_at_process;
    CountOomKills count_oom_kills;
    LookAtHost look_at_host;
    std::shared_ptr<const StoreCounts> counts;  // of the node's store
    std::shared_ptr<const Store> store;         // the same store, uncounted
    std::int32_t process = 0;                   // of this head; 0: not known
  };
  // None: it does not run here. The first head logs once that heads compute.
  static std::unique_ptr<FaultDesk> open(Head& head, const Catalog& catalog, const Sources& sources);
  ~FaultDesk() override;

  // `decided`: the life has restored or taken a snapshot. Until then the start may be refused, and changes no store.
  void turn(bool decided);
  // Before a repair: keeps what is not a verdict yet for the heads that open next. While the job runs, turn() does that
  // now and then: MPI may end the job, and this process, at any moment.
  // False: the store has failed.
  bool spool();
  // At the end of a life: MPI reports the processes of these world ranks as dead. It is kept with the other symptoms,
  // and not sent: the communicator that a message would take may be revoked by now.
  void note_dead(std::span<const Peer> dead);
  // The run is about to end. Nothing is to follow the record of its end.
  void stop_watching();
  // The run has ended well.
  void end();
  // Time and reporter are filled in here.
  void report(const Symptom& symptom) override;
  void note_transfers(std::span<const Transfer> transfers) override { transfers_.note(transfers); }
  void note_sent(NodeId to, Sent how) override;
  // The application, an operator or a health script suspects a rank or a node. `text`: plain, for a person.
  void suspect(const Suspect& suspect, const std::string& text);
  // A rank of the node has written its shard; or it could not.
  void note_write(const Seal& seal);

 private:
  using Time = std::chrono::microseconds;
  FaultDesk(Head& head, const Catalog& catalog, std::vector<NodeId> nodes, const Sources& sources);

  class Meter;  // of the processor time that fault localization takes, for a trace

  // What messages begin with.
  [[nodiscard]] Buffer life() const;
  void send(NodeId to, const localize::Message& message) override;
  void announce(const localize::Verdict& verdict) override;
  void renew(const localize::Verdict& verdict) override;
  [[nodiscard]] localize::Setting setting_of(const localize::Verdict& verdict) const;
  void analysis_begins(NodeId suspect) override;
  void analysis_ends(NodeId suspect) override;
  [[nodiscard]] localize::RankProcess process(Rank rank) const override;
  [[nodiscard]] localize::NodeState state() const override;
  [[nodiscard]] localize::NodeLog log(std::optional<Rank> rank) const override;
  [[nodiscard]] Buffer calls() const override;
  [[nodiscard]] std::vector<localize::Blocker> blockers(const localize::CallReports& reports) const override;

  void receive();
  void look(Time now);
  void look_at(Rank rank, Time now);
  void look_at_store(Time now);
  void look_at_host(Time now);
  void note_pause(Time now);
  void beat(Time now);
  void receive_beats(Time now);
  [[nodiscard]] std::optional<NodeWatch::Own> own_use() const;
  void look_for_waits();
  void report_watch(Time now);
  void renew_rules(Time now);
  void keep_pending(Time now);
  void take_suspicions(Time now);
  void note_suspicion(const Suspect& suspect, const std::string& text);
  void ask_for_snapshot(Time now);
  [[nodiscard]] std::optional<LevelId> level_without(const std::vector<NodeId>& lost) const;

  Head& head_;
  const Catalog& catalog_;
  Sources sources_;
  localize::Settings settings_;
  hang::Patience patience_;
  localize::RuleBook book_;
  localize::Tree tree_;
  localize::Localizer localizer_;
  PartJoiner parts_;
  ProcessWatch processes_;
  StoreWatch store_;
  NodeWatch host_;
  std::optional<Heartbeats> beats_;  // none: off
  TransferWatch transfers_;
  SentWatch sent_files_;
  bool said_farewell_ = false;                // to those that expect its heartbeats
  bool shares_machine_ = false;               // with another node of the job, though they have different host names
  Time turned_{};                             // when it had its last turn
  std::deque<std::pair<Time, Time>> pauses_;  // when long times without a turn ended, and how long each was
  CallWatch calls_;
  SymptomSpool spool_;
  HealthKeeper health_;
  WatchKeeper watch_;
  SuspicionBox suspicions_;
  localize::SnapshotCalls snapshots_;
  std::map<Suspect, Time> logged_suspicions_;  // when last
  std::vector<std::pair<Buffer, std::unique_ptr<Request>>> sent_;
  std::map<NodeId, std::pair<Buffer, std::unique_ptr<Request>>> beats_sent_;  // the last one to each
  std::deque<localize::Message> own_;
  std::map<NodeId, Trace::Span> analyses_;
  Time next_turn_{}, next_look_{}, next_rules_{}, next_suspicions_{}, next_spool_{};
  std::vector<localize::Observation> dead_;  // what MPI has reported, with ages; one for each node
  bool spoolable_ = true;                    // as far as the last write has shown
  std::chrono::nanoseconds taken_{};         // by this thread, for fault localization; measured while there is a trace
  bool unreadable_ = false;                  // the file of rules; said once
};

}  // namespace cairn
