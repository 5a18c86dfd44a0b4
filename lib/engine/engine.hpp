// The engine does everything beyond the first copy, on behalf of one node: it digests sealed shards, writes manifests,
// agrees with the other heads, promotes snapshots to higher levels, retires old ones, and brings them back. A
// dedicated head rank, a progress thread or a blocking call may run it; the code is the same.
//
// Its parts are a Head (what they share), the Catalog of what is known and kept, the Life, and the parts that do the
// work: SealDesk, Promoter, RestoreDesk, and at the end the Ending. The engine receives messages and gives each part
// its turn.
//
// It is driven by step(), which does one piece of work and says whether there was any. While a promotion waits or
// moves data, newer snapshots are still sealed. Nothing is retired before a successful vote of all heads.
//
// One thread. open() and the work inside step() are collective among heads, who all see the same snapshots in the
// same order. An error of a snapshot is sent to the node's ranks; only the loss of a peer ends the engine.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <cairn/failure_topology.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/host_state.hpp"
#include "base/log.hpp"
#include "base/process_state.hpp"
#include "base/trace.hpp"
#include "comm/comm.hpp"
#include "engine/fault_desk.hpp"
#include "engine/head.hpp"
#include "engine/inquiry.hpp"
#include "engine/life.hpp"
#include "engine/messages.hpp"
#include "engine/promoter.hpp"
#include "engine/restore_desk.hpp"
#include "engine/seal_desk.hpp"
#include "engine/silence.hpp"
#include "recover/catalog.hpp"
#include "recover/roll_call.hpp"
#include "recover/store_memory.hpp"
#include "topology/topology.hpp"

namespace cairn {

struct EngineSetup {
  Comm& control;  // ranks and heads, by world rank
  Comm& heads;    // member i is the head of node i
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
  Levels levels = make_levels();
  std::int32_t process = 0;  // this one's number on its host; 0: not known
  LookAtProcess look_at_process = cairn::look_at_process;
  CountOomKills count_oom_kills = cairn::count_oom_kills;
  LookAtHost look_at_host = [] { return cairn::look_at_host(); };
  std::optional<Error> unable = std::nullopt;  // why this node cannot take part: then all are told so
};

class Engine {
 public:
  // Waits for every rank of the node to say hello, opens the stores, learns the inventory, agrees on identity and
  // layout, and answers the ranks. Collective among heads; on failure all ranks have been told.
  static Result<std::unique_ptr<Engine>> open(const EngineSetup& setup);
  ~Engine();

  // Does one piece of work, if there is any; false: nothing to do now. An error is final. Raising a snapshot is work in
  // which heads wait for each other. Heads that also compute do not raise what a restore has left to rebuild until all
  // heads have voted on a version, or that none is left: then each of them is waiting in a call, and goes on until all
  // is raised.
  enum class Heads { serve, compute };
  [[nodiscard]] Result<bool> step(Heads heads);
  // True while something is under way that others may wait for.
  [[nodiscard]] bool busy() const;
  // True while snapshots up to `version` are being sealed or promoted. A caller that waits for this need not wait for
  // later ones, whose other ranks may be waiting for the caller.
  [[nodiscard]] bool busy_with(Version version) const;
  [[nodiscard]] bool finished() const { return finished_; }
  // Steps until the ranks are finalized; sleeps on the node's bell while there is nothing to do.
  [[nodiscard]] Status serve();
  // The rank in whose process this engine runs leaves its session. Tells the other heads and the ranks of this node,
  // and that nobody acts for the node any more, which ends their engines. Local.
  void leave(const FinalizeRequest& last);

 private:
  explicit Engine(const EngineSetup& setup);

  // engine_open.cpp
  [[nodiscard]] Status open_bell();
  [[nodiscard]] Status receive_hellos();
  [[nodiscard]] Result<RollCall> take_stock(const EngineSetup& setup);
  [[nodiscard]] Status look_around();
  void look_for_sick_nodes();
  [[nodiscard]] Status choose_layout(const RollCall& roll);
  [[nodiscard]] Status begin(const EngineSetup& setup);
  [[nodiscard]] Status open_votes();
  void remember_sick() const;

  // Run by promotions between slices and while they wait, so that a newer snapshot never waits for an older one.
  void tick();
  [[nodiscard]] Result<bool> finish();
  [[nodiscard]] Result<bool> receive();
  [[nodiscard]] Status handle(Peer from, ToHead message);
  void handle(Rank from, ToHead message);
  void receive_left(Rank from, const FinalizeRequest& request);
  void receive_suspicion(Rank from, const std::string& text);
  void leave();
  void break_down(const Error& error);
  void check_invariants() const;
  void break_silence();
  [[nodiscard]] Inquiry::Ways ways();
  [[nodiscard]] std::string doing() const;

  Head head_;
  std::unique_ptr<Lock> lock_;
  Silence silence_;
  Inquiry inquiry_;
  Catalog catalog_;
  Life life_;
  Promoter promoter_;
  SealDesk seals_;
  RestoreDesk restores_;
  std::shared_ptr<StoreCounts> store_counts_;
  std::unique_ptr<FaultDesk> faults_;    // null: off
  std::shared_ptr<StoreMemory> memory_;  // may be null
  std::set<Rank> suspected_;             // by the application, where there is no fault localization; said once
  std::optional<Error> broken_;
  bool in_tick_ = false;
  bool finished_ = false;
};

}  // namespace cairn
