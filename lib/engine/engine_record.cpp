#include <algorithm>

#include "engine/engine.hpp"
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
  for (const Entry& entry : *entries) {
    const auto dir = names::parse_snapshot(entry.name);
    if (!dir || !dir->partial || dir->run == run) continue;
    const auto is_others = [&](const Unreadable& what) { return what.is_others() && what.run == dir->run; };
    if (std::ranges::any_of(chain.unreadable, is_others)) continue;
    if (auto status = global.remove_directory(DirName{entry.name}); !status) return status;
  }
  return {};
}

// Whether the global store has a life that was not there when this one took its number.
Status check_nobody_began(const Store& global, const Chain& chain) {
  auto entries = global.list(DirName{});
  if (!entries) return fail(entries.error());
  for (const Entry& entry : *entries) {
    const auto record = names::parse_run_record(entry.name);
    if (!record || record->incarnation <= chain.newest) continue;
    return fail(Code::taken_over, "another run began meanwhile: " + global.where() + " has " + entry.name,
                "run one job of a name at a time, or give this one another [job] name");
  }
  return {};
}

}  // namespace

// From now on this node's store is of this life's chain, and may be written to.
Status Engine::mark_store() {
  if (marked_) return {};
  remove_leftovers(*node_.local, contents_, node_.log);
  contents_.unnamed.clear();  // what has such a name from now on is this life's
  const Sealer& sealer = setup_.sealer;
  const bool writes = mark_.id.value != 0 && contents_.mark != mark_;
  const Status status = writes ? write_chain_mark(*node_.local, mark_, sealer) : Status{};
  marked_ = status.has_value();
  // With a key, what is in a store without a mark does not count.
  if (!status && sealer.has_key()) return status;
  // A store that is full has worse to tell, and is marked when it takes its first snapshot.
  if (!status) node_.log.warning("{}", status.error().text());
  return {};
}

Status Engine::begin_life() {
  if (auto status = mark_store(); !status) return status;
  return leads() && !recorded_ ? write_record() : Status{};
}

// Head 0 writes what is known of this life; the first time, this is the moment from which it counts. That is when its
// state is restored, or its first snapshot is sealed: before, it may still be refused.
Status Engine::write_record() {
  if (!recorded_) {
    if (auto status = check_nobody_began(*node_.global, chain_); !status) return status;
  }
  if (!recorded_ && !chain_.mark_unknown && chain_.mark != mark_) {
    if (auto status = write_chain_mark(*node_.global, mark_, setup_.sealer); !status) return status;
  }
  if (auto status = write_run_record(*node_.global, record_, node_.sealer); !status) return status;
  if (recorded_) return {};
  recorded_ = true;
  // The life has begun, whatever is left beside it: failing now would make a refused start of one that is recorded.
  if (auto status = remove_partial(*node_.global, chain_, record_.run); !status) {
    node_.log.warning("{}", status.error().in("what earlier lives were writing is still there").text());
  }
  return {};
}

// Somebody may have removed the global store, or a part of it, since this life began. Without mark and record a version
// there is of nobody's chain, and with a key it is nothing.
Status Engine::renew_records() {
  if (!leads() || !recorded_) return {};
  const auto entries = node_.global->list(DirName{});
  if (!entries) return fail(entries.error());
  const auto is_there = [&](const FileName& name) {
    return std::ranges::find(*entries, name.path, &Entry::name) != entries->end();
  };
  const bool has_record = is_there(names::run_record(record_.incarnation, record_.run));
  const bool needs_mark = !chain_.mark_unknown && mark_.id.value != 0 && !is_there(names::chain_mark());
  if (has_record && !needs_mark) return {};
  // Who took over has made the store anew: its chain is not to have this life.
  if (auto status = check_not_taken_over(*node_.global, node_.incarnation, node_.run); !status) return status;
  if (needs_mark) {
    if (auto status = write_chain_mark(*node_.global, mark_, setup_.sealer); !status) return status;
  }
  if (has_record) return {};
  return write_run_record(*node_.global, record_, node_.sealer);
}

Status Engine::record_parent(RunRecord::Parent parent, const Identity& snapshot) {
  if (record_.parent != RunRecord::Parent::undecided) return {};
  const RunRecord before = record_;
  record_.parent = parent;
  record_.parent_snapshot = snapshot;
  if (parent == RunRecord::Parent::snapshot) record_.snapshots = true;
  // A record of a fresh start cuts off what was before, so it comes last: if another node cannot begin, nothing has.
  Status status;
  if (parent == RunRecord::Parent::fresh) status = agree(setup_.heads, mark_store(), "node");
  if (status) {
    Status mine = leads() && recorded_ ? write_record() : begin_life();
    // All heads are here, and none of them writes to the global store before they have agreed.
    if (mine && leads()) remove_leftovers(*node_.global, node_.log);
    status = agree(setup_.heads, mine, "node");
  }
  if (!status) record_ = before;
  begun_ |= status.has_value();
  return status;
}

}  // namespace cairn
