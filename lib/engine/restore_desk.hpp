// The restore desk: ranks ask, the heads bring shards home and offer them, ranks read them and answer, the heads agree.
// What is found damaged on the way is struck, and the heads plan again, until all ranks have read a snapshot, or none
// is left. Its lost parts are then rebuilt in the background.
//
// A snapshot that is only opened takes the same way, but it is not adopted: what is brought lies beside the snapshot
// until ranks have opened it, and its state is one of its own. While ranks read it, its files stay (Catalog::hold).
//
// One thread. Collective among heads, once nothing is being sealed or raised any more.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include <cairn/failure_topology.hpp>

#include "base/error.hpp"
#include "engine/head.hpp"
#include "engine/life.hpp"
#include "engine/promoter.hpp"
#include "engine/seal_desk.hpp"
#include "recover/catalog.hpp"
#include "recover/plan.hpp"
#include "recover/roll_call.hpp"

namespace cairn {

class RestoreDesk {
 public:
  RestoreDesk(Head& head, Catalog& catalog, Life& life, Promoter& promoter, SealDesk& seals, FailureTopology failures)
      : head_(head),
        catalog_(catalog),
        life_(life),
        promoter_(promoter),
        seals_(seals),
        failures_(std::move(failures)) {}

  // Learns what all stores hold, and with it what this node knows of every snapshot. `roll`: if it was called just now.
  [[nodiscard]] Status take_inventory(const std::optional<RollCall>& roll);
  // Does the next step of a restore; false: there is none to do. Fails only when a peer is lost.
  [[nodiscard]] Result<bool> answer();
  // Ranks are reading what they were offered.
  [[nodiscard]] bool is_read() const { return plan_ || fresh_offered_; }

 private:
  // restore_open.cpp
  [[nodiscard]] bool opens() const;
  [[nodiscard]] bool closes() const;
  [[nodiscard]] Status learn_for_open();
  [[nodiscard]] Result<Offer> prepare_open();
  void hold();
  void close_open();

  // restore_offer.cpp
  [[nodiscard]] Result<RetrieveState> make_state(const StoreContents& contents, const std::optional<RollCall>& roll);
  [[nodiscard]] Result<Offer> prepare_offer();
  void describe(const Plan& plan, Offer& offer) const;
  [[nodiscard]] bool has_state() const { return opening_ || catalog_.retrieval; }
  [[nodiscard]] RetrieveState& retrieval() { return opening_ ? *opening_ : *catalog_.retrieval; }
  [[nodiscard]] const RetrieveState& retrieval() const { return opening_ ? *opening_ : *catalog_.retrieval; }
  [[nodiscard]] Incarnation oldest_life(Version chosen) const;
  [[nodiscard]] Result<Version> version_to_choose();
  [[nodiscard]] Result<Plan> make_plan_to_offer();
  [[nodiscard]] Result<bool> forget_what_is_damaged(const Plan& plan);
  [[nodiscard]] bool nothing_was_sealed() const;
  [[nodiscard]] Status check_nothing_unreadable();
  [[nodiscard]] Result<Offer> fresh_offer(Offer offer);

  // Of the ranks of this node.
  [[nodiscard]] std::map<Rank, std::vector<OfferedShard>> deal_shards() const;
  // What came of an offer on this node.
  struct Answers {
    std::uint64_t safe_point = 0;
    std::vector<Rank> damaged;  // ranks of the snapshot
    std::vector<Strike> strikes;
    void note_damaged(const NodeContext& node, const Plan& plan, Rank rank);
    Status complaint;  // of a rank, about something other than its shard
    std::map<Rank, Resized> resized;
    std::map<Rank, Destinations> destinations;
    bool completes = false;  // a rank has objects or files
  };

  // restore_desk.cpp
  [[nodiscard]] Status offer();
  [[nodiscard]] Answers take_answers();
  void refuse(const Error& error);
  void log_sources() const;
  [[nodiscard]] Status conclude();
  [[nodiscard]] Status learn_notes(const Identity& snapshot);
  [[nodiscard]] Status share(const Answers& here);
  void close(const Status& status);
  void forget_brought();
  void forget_state();
  void strike_damaged();

  // restore_adopt.cpp
  void pass_over_newer_than(const Identity& snapshot);
  [[nodiscard]] Status record(const Identity& snapshot);
  [[nodiscard]] bool is_instead_of_rejected(const Identity& snapshot) const;
  void log_branch(const Identity& snapshot) const;
  [[nodiscard]] Status adopt(const Plan& plan, std::uint64_t safe_point);
  [[nodiscard]] Status adopt_of_other_ranks(const Plan& plan);
  [[nodiscard]] LevelSet levels_of_next_snapshot(const Inventory& inventory, const Plan& plan) const;
  [[nodiscard]] Status note_own_shards(Known& known, std::uint64_t safe_point);
  [[nodiscard]] Result<std::uint64_t> read_safe_point(const Plan& plan) const;
  [[nodiscard]] LevelSet levels_to_rebuild(const Inventory& inventory, const Identity& snapshot, bool moved) const;

  Head& head_;
  Catalog& catalog_;
  Life& life_;
  Promoter& promoter_;
  SealDesk& seals_;
  FailureTopology failures_;
  std::optional<RetrieveState> opening_;  // of a snapshot that is opened; beside the catalog's
  std::map<Version, Identity> opened_;    // the last of each number; the same on all heads
  std::optional<Plan> plan_;              // whose shards ranks are offered
  bool fresh_offered_ = false;
  bool regions_touched_ = false;     // ranks were offered a snapshot in this restore
  std::uint32_t resized_ranks_ = 0;  // by this restore
  std::uint64_t moved_bytes_ = 0;    // from this node to others, in this restore; in the end, of all nodes
  LevelSet next_;                    // see RestoreDone, of this restore
  bool completes_ = false;           // the same
  SnapshotNotes notes_;              // of the snapshot that ranks have read
  // A snapshot whose shards were moved, and whose redundancy is not rebuilt yet. If the restore fails in between, the
  // next one finds the shards in place, and has to rebuild the redundancy all the same.
  std::optional<Identity> moved_;
};

}  // namespace cairn
