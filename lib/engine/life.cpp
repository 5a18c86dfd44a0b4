#include "engine/life.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "level/global_level.hpp"
#include "recover/belonging.hpp"
#include "recover/leftovers.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// What earlier lives were writing when they died, but not those that are not ours to judge. One that is still alive
// will find itself taken over.
Status remove_partial(Store& global, const Chain& chain, RunId run) {
  auto entries = global.list(DirName{});
  if (!entries) return fail(entries.error());
  for (const names::SnapshotDir& dir : names::snapshots_in(*entries)) {
    if (!dir.partial || dir.run == run) continue;
    const auto is_others = [&](const Unreadable& what) { return what.is_others() && what.run == dir.run; };
    if (std::ranges::any_of(chain.unreadable, is_others)) continue;
    if (auto status = global.remove_directory(names::directory_of(dir)); !status) return status;
  }
  return {};
}

// Whether the global store has a life that was not there when this one took its number.
Status check_no_other_run(const Store& global, const Chain& chain) {
  auto entries = global.list(DirName{});
  if (!entries) return fail(entries.error());
  for (const Entry& entry : *entries) {
    const auto record = names::parse_run_record(entry.name);
    if (!record || record->incarnation <= chain.newest) continue;
    return fail(Code::taken_over, "another run of this job has begun: " + global.where() + " has " + entry.name,
                "end one of the two runs; if they are different jobs, give each a [job] name of its own");
  }
  return {};
}

}  // namespace

// From now on this node's store is of this life's chain, and may be written to.
Status Life::mark_store() {
  if (marked_) return {};
  clean_store();
  const bool writes = mark_.id.value != 0 && catalog_.contents.mark != mark_;
  const Status status = writes ? write_chain_mark(*head_.node.local, mark_, sealer_) : Status{};
  marked_ = status.has_value();
  // With a key, what is in a store without a mark does not count.
  if (!status && sealer_.has_key()) return status;
  // A store that is full has worse to tell, and is marked when it takes its first snapshot.
  if (!status) head_.node.log.warning("{}", status.error().text());
  return {};
}

void Life::clean_store() {
  if (std::exchange(cleaned_, true)) return;
  remove_leftovers(*head_.node.local, catalog_.contents, head_.node.log);
  catalog_.contents.unnamed.clear();  // what has such a name from now on is this life's
}

Status Life::begin() {
  if (auto status = mark_store(); !status) return status;
  return head_.node.leads() && !recorded_ ? write_record() : Status{};
}

void Life::has_begun() {
  begun_ = true;
  if (measured_) keep_costs(*measured_);
}

// Head 0 writes what is known of this life; the first time, this is the moment from which it counts. That is when its
// state is restored, or its first snapshot is sealed: before, it may still be refused.
Status Life::write_record() {
  if (!recorded_) {
    if (auto status = check_no_other_run(*head_.node.global, catalog_.chain); !status) return status;
  }
  if (!recorded_ && !catalog_.chain.mark_unknown && catalog_.chain.mark != mark_) {
    if (auto status = write_chain_mark(*head_.node.global, mark_, sealer_); !status) return status;
  }
  if (auto status = write_run_record(*head_.node.global, record_, head_.node.sealer); !status) return status;
  if (recorded_) return {};
  recorded_ = true;
  // The life has begun, whatever is left beside it: failing now would make a refused start of one that is recorded.
  if (auto status = remove_partial(*head_.node.global, catalog_.chain, record_.run); !status) {
    head_.node.log.warning("{}", status.error().in("unfinished files of earlier runs could not be removed").text());
  }
  return {};
}

// Somebody may have removed the global store, or a part of it, since this life began. Without mark and record a version
// there is of nobody's chain, and with a key it is nothing.
Status Life::renew_records() {
  if (!head_.node.leads() || !recorded_) return {};
  const auto entries = head_.node.global->list(DirName{});
  if (!entries) return fail(entries.error());
  const bool has_record = has_entry(*entries, names::run_record(record_.incarnation, record_.run));
  const auto mark_is_lost = look_at_unread_mark(*entries);
  if (!mark_is_lost) return fail(mark_is_lost.error());
  const bool needs_mark = mark_.id.value != 0 && (*mark_is_lost || !has_entry(*entries, names::chain_mark()));
  if (has_record && !needs_mark) return {};
  // Who took over has made the store anew: its chain is not to have this life.
  if (auto status = check_not_taken_over(*head_.node.global, head_.node.incarnation, head_.node.run); !status)
    return status;
  if (needs_mark) {
    if (auto status = write_chain_mark(*head_.node.global, mark_, sealer_); !status) return status;
  }
  if (has_record) return {};
  return write_run_record(*head_.node.global, record_, head_.node.sealer);
}

// Reads the global store's mark again if it could not be read when this life began, and says whether it is damaged.
// Until the mark can be read, what a job with a key writes beside it does not count.
Result<bool> Life::look_at_unread_mark(const std::vector<Entry>& entries) {
  if (!catalog_.chain.mark_unknown) return false;
  const auto mark = read_chain_mark(*head_.node.global, entries, head_.node.log, sealer_);
  if (mark && mark_.id.value != 0 && mark->id != mark_.id) {
    return fail(Code::mismatch,
                fmt::format("{}: {} belongs to other snapshots than those in the node stores of this job",
                            head_.node.global->where(), names::chain_mark().path));
  }
  const Code why = mark ? Code::not_found : mark.error().code;
  catalog_.chain.mark_unknown = why != Code::not_found && why != Code::corrupt;
  if (catalog_.chain.mark_unknown && sealer_.has_key()) return fail(mark.error());
  return why == Code::corrupt;
}

Status Life::record_parent(RunRecord::Parent parent, const Identity& snapshot) {
  if (!is_undecided()) return {};
  RunRecord now = record_;
  now.parent = parent;
  now.parent_snapshot = snapshot;
  now.snapshots |= parent == RunRecord::Parent::snapshot;
  if (parent == RunRecord::Parent::fresh && is_first_) {
    // Ranks may make files ready in this node's store from now on.
    clean_store();
    record_ = now;
    return {};
  }
  return record(now, parent == RunRecord::Parent::fresh ? CutsOff::yes : CutsOff::no);
}

Status Life::record_choice(const Choice& choice) {
  RunRecord now = record_;
  if (is_undecided()) {
    now.parent = RunRecord::Parent::snapshot;
    now.parent_snapshot = choice.snapshot;
    now.snapshots = true;
  }
  if (now.choices.size() == kMostChoices) now.choices.erase(now.choices.begin());
  now.choices.push_back(choice);
  const Status status = record(now, CutsOff::yes);
  if (status) catalog_.chain.choose(record_.incarnation, choice);
  return status;
}

void Life::record_rejection(const Identity& snapshot) {
  std::vector<Identity>& rejected = record_.rejected;
  if (std::ranges::find(rejected, snapshot) != rejected.end()) return;
  if (rejected.size() == kMostRejected) rejected.erase(rejected.begin());
  rejected.push_back(snapshot);
  if (!recorded_ || !head_.node.leads()) return;
  if (auto status = write_record(); !status)
    head_.node.log.warning("later runs may restore version {}: {}", snapshot.version.value,
                           status.error().in("that it was rejected could not be recorded").text());
}

Status Life::record(const RunRecord& now, CutsOff cuts_off) {
  Status mine = mark_store();
  // Such a record comes last: if another node cannot begin, nothing has.
  if (cuts_off == CutsOff::yes) {
    if (auto marked = agree(head_.heads, mine, "node"); !marked) return marked;
  }
  const RunRecord before = std::exchange(record_, now);
  if (mine && head_.node.leads()) mine = write_record();
  // All heads are here, and none of them writes to the global store before they have agreed.
  if (mine && head_.node.leads()) remove_leftovers(*head_.node.global, head_.node.log);
  const Status status = agree(head_.heads, mine, "node");
  if (!status) record_ = before;
  begun_ |= status.has_value();
  return status;
}

// From here on the chain has something to lose: a restart that finds nothing must say so, not start fresh. So it is
// written before anyone is told that the snapshot is safe.
Status Life::record_first_snapshot() {
  const RunRecord before = record_;
  if (is_undecided() && !catalog_.known.empty() && catalog_.known.begin()->first.incarnation < head_.node.incarnation) {
    head_.node.log.warning(
        "snapshot() was called before restore(): earlier snapshots will not be restored any more. Call restore() "
        "first");
  }
  note_first_snapshot();
  const Status status = write_record();
  if (!status) record_ = before;
  return status;
}

void Life::note_first_snapshot() {
  record_.snapshots = true;
  if (is_undecided()) record_.parent = RunRecord::Parent::fresh;
}

Status Life::record_end() {
  record_.finished = true;
  Status mine = head_.node.leads() ? write_record() : Status{};
  if (!mine && mine.error().code == Code::no_space) {
    head_.node.log.warning(
        "the job has finished, but its end could not be recorded, so its next run will restore the newest snapshot: "
        "{}",
        mine.error().text());
    mine = {};
  }
  const Status status = agree(head_.heads, mine, "node");
  begun_ |= status.has_value();
  return status;
}

void Life::lose_mark() {
  if (!std::exchange(marked_, false)) return;
  cleaned_ = false;
  catalog_.contents.mark.reset();
}

void Life::keep_costs(const JobCosts& measured) {
  measured_ = measured;
  if (catalog_.chain.costs_unknown || !begun_) return;
  const NodeContext& node = head_.node;
  Status status = check_not_taken_over(*node.global, node.incarnation, node.run);
  if (status) status = write_text(*node.global, names::costs(), to_json(measured, node.sealer));
  if (!status) node.log.warning("{}", status.error().in("the measured costs of snapshots could not be saved").text());
}

void Life::keep_costs_of_end() {
  if (!measured_) return;
  measured_->ended = true;
  keep_costs(*measured_);
}

}  // namespace cairn
