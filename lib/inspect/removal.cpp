#include "inspect/removal.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "recover/belonging.hpp"
#include "recover/retention.hpp"
#include "recover/unreadable.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// What the stores have of one snapshot.
struct Stored {
  Identity snapshot;
  bool partial = false;
  bool readable = false;  // some manifest is
  bool recoverable = false;
  bool usable = false;        // and a restart uses it
  bool absent_nodes = false;  // some nodes' stores are not here
  bool pinned = false;
  LevelsReached levels;
  std::optional<Finding> unjudged;
  std::vector<StoredPart> parts;

  [[nodiscard]] bool has_manifest() const { return std::ranges::any_of(parts, &StoredPart::has_manifest); }
};

using AllStored = std::map<std::string, Stored>;  // by directory, so oldest version first

std::vector<StoreId> holders_in(const JobStores& stores, const Survey& survey) {
  std::vector<StoreId> holders = survey.node_stores();
  if (stores.global) holders.push_back(StoreId::global());
  for (const auto& [holder, store] : stores.elsewhere) holders.push_back(holder);
  return holders;
}

Result<StoredPart> look_at_part(const Store& store, StoreId holder, const DirName& dir) {
  const auto entries = store.list(dir);
  if (!entries) return fail(entries.error());
  StoredPart part{holder, dir, has_entry(*entries, names::manifest(dir)), 0, 0};
  for (const Entry& entry : *entries) {
    part.files += entry.directory ? 0 : 1;
    part.bytes += entry.size_bytes;
  }
  return part;
}

// Looks at the directories of all snapshots in all stores.
class Collector {
 public:
  Collector(const JobStores& stores, const Survey& survey) : stores_(stores), survey_(survey) {}

  Result<AllStored> run() {
    for (const StoreId holder : holders_in(stores_, survey_)) {
      if (auto status = look_into(holder); !status) return fail(status.error());
    }
    const auto reached = survey_.inventory.levels_reached();
    for (const SnapshotView& view : view_snapshots(survey_)) {
      const auto found = all_.find(names::snapshot(view.identity).path);
      if (found == all_.end()) continue;  // removed meanwhile
      Stored& stored = found->second;
      stored.snapshot = view.identity;
      stored.readable = true;
      stored.recoverable = plan_recovery(survey_, view).possible;
      stored.usable = stored.recoverable && survey_.may_restore(view.identity);
      stored.absent_nodes = !view.absent.empty();
      stored.pinned = survey_.pins.contains(view.identity);
      if (const auto levels = reached.find(view.identity); levels != reached.end()) stored.levels = levels->second;
    }
    return std::move(all_);
  }

 private:
  Status look_into(StoreId holder) {
    const Store& store = stores_.at(holder);
    const auto entries = store.list(DirName{});
    if (!entries) return fail(entries.error());
    const auto mark = read_chain_mark(store, *entries, Log::silent(), stores_.sealer);
    if (auto status = check_chain(store, mark); !status) return status;
    // With a key and without the chain, whole files look damaged.
    const bool can_judge = mark || !stores_.sealer.has_key() || (holder.is_shared() && holder != StoreId::global());
    for (const names::SnapshotDir& dir : names::snapshots_in(*entries)) {
      const DirName name = names::directory_of(dir);
      auto part = look_at_part(store, holder, name);
      if (!part) return fail(part.error());
      Stored& stored = all_[name.path];
      stored.snapshot.version = dir.version;
      stored.snapshot.run = dir.run;
      stored.partial = dir.partial;
      stored.parts.push_back(std::move(*part));
      judge(holder, name, can_judge, stored);
    }
    return {};
  }

  void judge(StoreId holder, const DirName& dir, bool can_judge, Stored& stored) const {
    const FileName manifest = names::manifest(dir);
    const auto finding = std::ranges::find_if(
        survey_.findings, [&](const Finding& one) { return one.holder == holder && one.file == manifest; });
    if (finding == survey_.findings.end() || finding->state == Finding::State::missing) return;
    if (finding->state != Finding::State::damaged || !can_judge) stored.unjudged = *finding;
  }

  // All stores have to be of one chain.
  Status check_chain(const Store& store, const Result<ChainMark>& mark) {
    if (!mark) return {};
    if (!chain_) {
      chain_ = mark->id;
      first_ = store.where();
    }
    if (*chain_ == mark->id) return {};
    return fail(Code::mismatch, fmt::format("{} and {} have snapshots of different jobs", first_, store.where()),
                "name the stores of one job only");
  }

  const JobStores& stores_;
  const Survey& survey_;
  AllStored all_;
  std::optional<RunId> chain_;
  std::string first_;  // the store that has it
};

// Puts the plan together.
class Planner {
 public:
  explicit Planner(AllStored stored, Pinned pinned = Pinned::stay) : stored_(std::move(stored)), pinned_(pinned) {}

  [[nodiscard]] const AllStored& stored() const { return stored_; }

  void remove(const Stored& stored, Removal::Why why) {
    if (stored.unjudged) return plan_.spared.push_back(*stored.unjudged);
    if (stored.pinned && pinned_ == Pinned::stay) return plan_.pinned.push_back(stored.snapshot);
    plan_.removals.push_back({stored.snapshot, why, stored.recoverable, stored.parts});
    gone_.insert(&stored);
  }

  RemovalPlan finish() {
    bool loses_usable = false;
    bool loses_any = false;
    bool keeps_usable = false;
    LevelSet stays;
    for (const auto& [dir, stored] : stored_) {
      const bool goes = gone_.contains(&stored);
      // With nodes that are not here, it may be recoverable.
      loses_usable |= goes && (stored.usable || stored.absent_nodes);
      keeps_usable |= !goes && stored.usable;
      if (stored.usable) (goes ? plan_.levels_lost : stays).add(stored.levels.complete);
      loses_any |= goes && stored.recoverable;
      if (!goes && stored.recoverable) plan_.kept.push_back(stored.snapshot);
    }
    plan_.levels_lost.remove(stays);
    std::ranges::sort(plan_.kept, std::ranges::greater());
    plan_.takes_last = (loses_usable && !keeps_usable) || (loses_any && plan_.kept.empty());
    return std::move(plan_);
  }

 private:
  AllStored stored_;
  Pinned pinned_;
  std::set<const Stored*> gone_;
  RemovalPlan plan_;
};

// Recoverable is what a snapshot is or is not, as a level would be: the rules of retention then say which ones go.
constexpr LevelId kRecoverable = LevelId::local;

std::set<Identity> old_ones(const AllStored& all, std::uint32_t keep) {
  std::vector<KnownSnapshot> known;
  for (const auto& [dir, stored] : all) {
    if (!stored.readable) continue;
    KnownSnapshot one{stored.snapshot, {}};
    if (stored.usable) one.complete.add(kRecoverable);
    if (!stored.recoverable && !stored.levels.struck.empty()) one.struck.add(kRecoverable);
    known.push_back(one);
  }
  KeepCounts counts;
  counts.at[static_cast<std::size_t>(kRecoverable) - 1] = keep;
  const auto gone = retirable(known, counts, {kRecoverable});
  return {gone.begin(), gone.end()};
}

// The newest snapshot that is whole at some level; null: none.
const Stored* newest_complete(const AllStored& all) {
  const Stored* newest = nullptr;
  for (const auto& [dir, stored] : all) {
    if (!stored.usable || stored.levels.complete.empty()) continue;
    if (newest == nullptr || newest->snapshot < stored.snapshot) newest = &stored;
  }
  return newest;
}

bool damage_can_go(const Stored& stored, const Stored& newer, const Levels& levels) {
  const bool is_safe_there = !(newer.levels.complete & levels.in_global_store()).empty();
  return std::ranges::all_of(stored.parts, [&](const StoredPart& part) {
    const Unreadable what{names::manifest(part.dir), part.dir, stored.snapshot.version, stored.snapshot.run,
                          Error{Code::corrupt, {}, {}}};
    return what.can_go_after(newer.snapshot.version) && (!part.holder.is_shared() || is_safe_there);
  });
}

}  // namespace

bool sees_all_nodes(const Survey& survey) {
  const auto views = view_snapshots(survey);
  const std::size_t nodes = views.empty() ? 1 : views.front().layout.nodes;
  return survey.by_store.size() >= nodes;
}

Result<RemovalPlan> plan_deletion(const JobStores& stores, const Survey& survey, const std::set<Version>& versions,
                                  Pinned pinned) {
  auto stored = Collector(stores, survey).run();
  if (!stored) return fail(stored.error());
  Planner planner(std::move(*stored), pinned);
  for (const auto& [dir, one] : planner.stored()) {
    if (versions.contains(one.snapshot.version)) planner.remove(one, Removal::Why::chosen);
  }
  return planner.finish();
}

Result<RemovalPlan> plan_pruning(const JobStores& stores, const Survey& survey, std::uint32_t keep) {
  auto stored = Collector(stores, survey).run();
  if (!stored) return fail(stored.error());
  Planner planner(std::move(*stored));
  const AllStored& all = planner.stored();
  const std::set<Identity> old = old_ones(all, keep);
  const Stored* newest = newest_complete(all);
  const auto usable_after = [&](const Identity& snapshot) {
    return std::ranges::count_if(all,
                                 [&](const auto& one) { return one.second.usable && one.second.snapshot > snapshot; });
  };
  for (const auto& [dir, one] : all) {
    if (one.readable) {
      const bool may_be_whole = one.absent_nodes && !one.recoverable && usable_after(one.snapshot) < keep;
      if (old.contains(one.snapshot) && !may_be_whole)
        planner.remove(one, one.usable ? Removal::Why::old : Removal::Why::incomplete);
    } else if (one.unjudged) {
      planner.remove(one, Removal::Why::damaged);  // is spared
    } else if (one.has_manifest()) {
      if (newest != nullptr && damage_can_go(one, *newest, stores.levels)) planner.remove(one, Removal::Why::damaged);
    } else if (!one.partial || sees_all_nodes(survey)) {
      planner.remove(one, Removal::Why::unfinished);
    }
  }
  return planner.finish();
}

// Manifests first: what no manifest names does not count. The directory in a store of all nodes disappears in one step,
// its manifest too.
Status remove_snapshots(const RemovalPlan& plan, const WritableStores& stores,
                        const std::function<void(const Removal&)>& done) {
  for (const auto& [holder, store] : stores) {
    if (auto status = store->reclaim(Store::Writers::of_this_host); !status) return status;
  }
  for (const Removal& removal : plan.removals) {
    for (const StoredPart& part : removal.parts) {
      if (part.holder.is_shared() || !part.has_manifest) continue;
      if (auto status = stores.at(part.holder)->remove(names::manifest(part.dir)); !status) return status;
    }
    for (const bool shared : {true, false}) {
      for (const StoredPart& part : removal.parts) {
        if (part.holder.is_shared() != shared) continue;
        if (auto status = stores.at(part.holder)->remove_directory(part.dir); !status) return status;
      }
    }
    done(removal);
  }
  return {};
}

}  // namespace cairn
