// A life of the job, from one start to its end: its number and run id, the chain of snapshots that it goes on with or
// begins, and what is recorded of it. A life is written nowhere until its state is restored or its first snapshot is
// sealed: a start that is refused leaves every store as it was, and a job that runs undisturbed. Where no store had
// anything of the job, a fresh start is decided without being recorded: if it dies, the next start finds the same, and
// is fresh too. Its first snapshot records it.
//
// One thread. Collective among heads where it says so; what is written to the global store is written by head 0.
#pragma once

#include <optional>

#include "base/error.hpp"
#include "engine/head.hpp"
#include "format/job_costs.hpp"
#include "format/manifest.hpp"
#include "format/sealer.hpp"
#include "recover/catalog.hpp"
#include "recover/roll_call.hpp"
#include "recover/unreadable.hpp"

namespace cairn {

class Life {
 public:
  // `sealer`: of the job's chain marks; everything else is sealed for the chain.
  Life(Head& head, Catalog& catalog, Sealer sealer) : head_(head), catalog_(catalog), sealer_(std::move(sealer)) {}

  // Takes a number higher than any that a store has seen, and decides which chain this life is of. Refuses stores of
  // another one, and what it cannot read and may not ignore. Collective.
  [[nodiscard]] Status start(const RollCall& roll);
  // After this node's store was read once more: what could be read at the start may not be now. Collective.
  [[nodiscard]] Status check_unreadable_again();

  // Before it goes on from a snapshot: where no store says any more which chain its files are of, a new chain would
  // disown them, and the next start refuse them as another's. The same on all heads. Local.
  [[nodiscard]] Status check_chain_is_known() const;

  // From now on this node's store is of this life's chain, and may be written to. Local.
  [[nodiscard]] Status mark_store();
  // The same; and the life is recorded. Local.
  [[nodiscard]] Status begin();
  // All heads know now that it is.
  void has_begun();
  // What it goes on from. Does nothing if that was decided before. Collective.
  [[nodiscard]] Status record_parent(RunRecord::Parent parent, const Identity& snapshot);
  // That the job has gone back to a snapshot that was chosen, and, if it was not decided before, that it goes on from
  // that one. From then on the job is on its branch. Collective.
  [[nodiscard]] Status record_choice(const Choice& choice);
  // That the program has rejected a snapshot: later lives do not restore it unasked. At once, or with what is recorded
  // of this life first. Best effort. Local.
  void record_rejection(const Identity& snapshot);
  // That it has taken a snapshot: on head 0, and then on all.
  [[nodiscard]] Status record_first_snapshot();
  void note_first_snapshot();
  // That it ended the chain. A global store that is full is only a warning: the newest snapshot is safe there, and the
  // next start goes on from it. Requires: not undecided. Collective.
  [[nodiscard]] Status record_end();
  // Puts record and mark back into a global store that was removed under way. Does nothing but on head 0.
  [[nodiscard]] Status renew_records();
  // This node's store has lost its mark.
  void lose_mark();

  // Best effort: a job that loses this measures again. They are written once the life is recorded.
  void keep_costs(const JobCosts& measured);
  void keep_costs_of_end();

  // All heads know that it is recorded: from now on they write to their stores.
  [[nodiscard]] bool begun() const { return begun_; }
  // Whether the job may write what only tools read: its start is not refused any more. With a key, tools need the
  // chain's mark, which comes with the record.
  [[nodiscard]] bool may_be_watched() const { return begun_ || (!is_undecided() && !sealer_.has_key()); }
  // It has neither restored nor taken a snapshot.
  [[nodiscard]] bool is_undecided() const { return record_.parent == RunRecord::Parent::undecided; }
  [[nodiscard]] bool began_fresh() const { return record_.parent == RunRecord::Parent::fresh; }
  [[nodiscard]] bool has_snapshots() const { return record_.snapshots; }
  // Something that a restart would look at cannot be read; the same on all heads.
  [[nodiscard]] bool has_unreadable() const { return unread_ != Unread::none; }
  // The same, and it may be whole: it is not known to be damaged.
  [[nodiscard]] bool may_become_readable() const { return unread_ == Unread::perhaps_whole; }
  [[nodiscard]] const Sealer& sealer() const { return sealer_; }

 private:
  [[nodiscard]] Status check_stores_belong(const RollCall& roll);
  [[nodiscard]] Status learn_chain(const Status& read);
  [[nodiscard]] Status judge_by_other_stores(const RollCall& roll);
  [[nodiscard]] Status check_unreadable(const RollCall& roll);
  [[nodiscard]] bool finds_nothing(const RollCall& roll) const;
  void clean_store();
  // Whether something that cannot be read may be what a restart would look at.
  [[nodiscard]] bool matters(const Unreadable& what) const;
  [[nodiscard]] Status learn_unread(Unread mine);
  [[nodiscard]] Status write_record();
  // Whether restarts leave out snapshots that they would have restored before.
  enum class CutsOff { no, yes };
  [[nodiscard]] Status record(const RunRecord& now, CutsOff cuts_off);
  [[nodiscard]] Result<bool> look_at_unread_mark(const std::vector<Entry>& entries);

  Head& head_;
  Catalog& catalog_;
  Sealer sealer_;
  RunRecord record_;
  bool recorded_ = false;             // this life is in the global store; on head 0
  bool begun_ = false;                // the same, as all heads know it
  bool is_first_ = false;             // no store had anything of the job when this life began; the same on all heads
  bool cleaned_ = false;              // what earlier processes have left in this node's store is removed
  ChainMark mark_;                    // of the chain that this life goes on with or begins
  bool marked_ = false;               // this node's store has it
  std::optional<JobCosts> measured_;  // in this life, on the head that was told
  Past past_;                         // as it was known at the start
  Unread unread_ = Unread::none;
};

}  // namespace cairn
