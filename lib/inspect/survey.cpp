#include "inspect/survey.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "format/health_file.hpp"
#include "format/job_costs.hpp"
#include "format/json_file.hpp"
#include "recover/belonging.hpp"
#include "recover/chain.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// A manifest that changes while its files are looked up is read again; a job renews it a few times a snapshot.
constexpr int kTurns = 5;

using Entries = std::map<std::string, Entry>;  // by path

Result<std::vector<Entry>> list_if_there(const Store& store, const DirName& dir) {
  auto entries = store.list(dir);
  if (!entries && entries.error().code == Code::not_found) return std::vector<Entry>{};
  return entries;
}

Result<Entries> entries_in(const Store& store, const DirName& dir) {
  const auto listed = list_if_there(store, dir);
  if (!listed) return fail(listed.error());
  Entries entries;
  for (const Entry& entry : *listed) entries[dir.path + "/" + entry.name] = entry;
  return entries;
}

// Nothing when the file is as long as it should be.
std::optional<Error> wrong_length(const Entries& entries, const FileName& file, std::uint64_t bytes) {
  const auto found = entries.find(file.path);
  if (found == entries.end()) return Error{Code::not_found, "does not exist", {}};
  if (found->second.directory) return Error{Code::corrupt, "is a directory, should be a file", {}};
  if (found->second.size_bytes == bytes) return {};
  return Error{Code::corrupt, fmt::format("it is {} bytes long, should be {}", found->second.size_bytes, bytes), {}};
}

// Directories of snapshots in a store's listing, but for what is being written, with what their names say of the
// snapshot.
std::vector<std::pair<DirName, Identity>> snapshots_in(const std::vector<Entry>& entries) {
  std::vector<std::pair<DirName, Identity>> snapshots;
  for (const names::SnapshotDir& dir : names::snapshots_in(entries)) {
    if (!dir.partial) snapshots.emplace_back(names::directory_of(dir), Identity{{}, dir.version, dir.run});
  }
  return snapshots;
}

class Surveyor {
 public:
  explicit Surveyor(const JobStores& stores) : stores_(stores) {
    survey_.by_store.resize(stores.nodes.size());
    survey_.inventory.by_head.resize(stores.nodes.size());
    survey_.inventory.levels = stores.levels;
  }

  Result<Survey> run() {
    for (const StoreId holder : survey_.node_stores()) {
      if (auto status = look_into_node_store(holder); !status) return fail(status.error());
    }
    if (stores_.global) {
      if (auto status = look_into_global_store(); !status) return fail(status.error());
    }
    if (auto status = look_into_other_stores(); !status) return fail(status.error());
    for (auto& [dir, ignored] : ignored_) survey_.ignored.push_back(std::move(ignored));
    std::ranges::reverse(survey_.ignored);  // names were in order
    return std::move(survey_);
  }

 private:
  // A file that a restart reads, and that belongs to no snapshot.
  template <class T>
  void look_at_file(StoreId holder, const FileName& name, std::uint64_t most_bytes,
                    Result<T> (*parse)(const std::string&, const Sealer&)) {
    const auto text = read_text(stores_.at(holder), name, most_bytes);
    const Result<T> file = text ? parse(*text, sealer_) : Result<T>(fail(text.error()));
    note_other(holder, name, file ? std::nullopt : std::optional(file.error()));
  }

  void look_at_mark(StoreId holder, const std::vector<Entry>& entries) {
    const auto mark = read_chain_mark(stores_.at(holder), entries, Log::silent(), stores_.sealer);
    note_other(holder, names::chain_mark(), mark ? std::nullopt : std::optional(mark.error()));
  }

  void note_other(StoreId holder, const FileName& name, const std::optional<Error>& error) {
    if (error && error->code != Code::not_found)
      survey_.findings.push_back(describe_failure(stores_, Identity{}, holder, name, *error));
  }

  Status look_into_node_store(StoreId holder) {
    const Store& store = stores_.at(holder);
    const auto entries = list_if_there(store, DirName{});
    if (!entries) return fail(entries.error());
    sealer_ = stores_.sealer_at(holder);
    look_at_mark(holder, *entries);
    for (const auto& [dir, identity] : snapshots_in(*entries)) look_at_snapshot(holder, dir, identity);
    return {};
  }

  void look_at_snapshot(StoreId holder, const DirName& dir, const Identity& by_name) {
    const Store& store = stores_.at(holder);
    std::optional<NodeManifest> manifest;
    std::vector<Finding> wrong;
    for (int turn = 0; turn < kTurns; ++turn) {
      auto read = read_node_manifest(store, dir, sealer_);
      if (!read && read.error().code == Code::not_found) return ignore(holder, dir, by_name.version);
      if (!read) {
        survey_.findings.push_back(describe_failure(stores_, by_name, holder, names::manifest(dir), read.error()));
        return;
      }
      // If files are wrong twice under the same manifest, they are damaged, and not just being written.
      const bool same = manifest && *manifest == *read;
      manifest = std::move(*read);
      if (same) break;
      const auto entries = entries_in(store, dir);
      if (!entries) {
        survey_.findings.push_back(describe_failure(stores_, by_name, holder, names::manifest(dir), entries.error()));
        return;
      }
      wrong = wrong_files(holder, *manifest, *entries);
      if (wrong.empty()) break;
    }
    for (Finding& finding : wrong) {
      survey_.inventory.strikes.insert({holder, finding.file.path});
      survey_.findings.push_back(std::move(finding));
    }
    take_in(holder, std::move(*manifest));
  }

  void ignore(StoreId holder, const DirName& dir, Version version) {
    Ignored& ignored = ignored_.try_emplace(dir.path, Ignored{dir, version, {}}).first->second;
    ignored.holders.push_back(holder);
  }

  std::vector<Finding> wrong_files(StoreId holder, const NodeManifest& manifest, const Entries& entries) const {
    std::vector<Finding> wrong;
    for (const NamedFile& file : stores_.levels.files(manifest)) {
      const auto error = wrong_length(entries, file.name, file.bytes());
      if (!error) continue;
      Finding finding = describe_failure(stores_, manifest.identity, holder, file.name, *error);
      finding.level = file.level;
      if (const ShardEntry* shard = file.shard()) finding.ranks = {shard->rank};
      wrong.push_back(std::move(finding));
    }
    return wrong;
  }

  void take_in(StoreId holder, NodeManifest manifest) {
    for (const Holding& holding : manifest.holdings) {
      const HoldingSummary summary = stores_.levels.summary_of(manifest.identity, holding);
      survey_.inventory.layouts.emplace(summary.layout, holding.layout);
      survey_.inventory.by_head[holder.head()].push_back(summary);
    }
    survey_.by_store[holder.head()].push_back(std::move(manifest));
  }

  Status look_into_global_store() {
    const Store& global = *stores_.global;
    sealer_ = stores_.sealer_at(StoreId::global());
    const auto chain = read_chain(global, Log::silent(), stores_.sealer);
    if (chain) survey_.fresh_start = chain->fresh_start;
    if (chain) survey_.branch = chain->branch;
    if (chain) survey_.pins = chain->pins;
    const auto entries = list_if_there(global, DirName{});
    if (!entries) return fail(entries.error());
    look_at_mark(StoreId::global(), *entries);
    look_at_file(StoreId::global(), names::costs(), kMostRecordBytes, parse_job_costs);
    look_at_file(StoreId::global(), names::pins(), kMostRecordBytes, parse_pins);
    look_at_file(StoreId::global(), names::health(), kMostHealthBytes, parse_health_file);
    for (const Entry& entry : *entries) {
      if (const auto run = names::parse_run_record(entry.name)) look_at_run(FileName{entry.name}, *run);
    }
    const LevelSet here = stores_.levels.in_global_store();
    for (const auto& [dir, identity] : snapshots_in(*entries)) {
      for (const LevelId level : here) look_at_shared_snapshot(level, dir, identity);
    }
    std::ranges::reverse(survey_.runs);  // names were in order
    return {};
  }

  void look_at_run(const FileName& name, const names::RunRecordName& by_name) {
    auto record = read_run_record(*stores_.global, name, sealer_);
    if (record)
      survey_.runs.push_back(*record);
    else if (record.error().code != Code::not_found) {
      survey_.findings.push_back(
          describe_failure(stores_, {by_name.incarnation, {}, by_name.run}, StoreId::global(), name, record.error()));
    }
  }

  // Stores of all nodes beside the global one.
  Status look_into_other_stores() {
    const LevelSet elsewhere = stores_.levels.in_shared_stores() - stores_.levels.in_global_store();
    for (const LevelId level : elsewhere) {
      const StoreId id = *stores_.levels.at(level).traits().shared_store;
      if (!stores_.has(id)) continue;
      sealer_ = stores_.sealer_at(id);
      const auto entries = list_if_there(stores_.at(id), DirName{});
      if (!entries) return fail(entries.error());
      for (const auto& [dir, identity] : snapshots_in(*entries)) look_at_shared_snapshot(level, dir, identity);
    }
    return {};
  }

  void look_at_shared_snapshot(LevelId level, const DirName& dir, const Identity& by_name) {
    const StoreId where = *stores_.levels.at(level).traits().shared_store;
    const Store& store = stores_.at(where);
    auto snapshot = stores_.levels.at(level).look_at(store, dir, sealer_);
    const auto entries = entries_in(store, dir);
    if (entries && entries->empty()) return;  // retired
    if (!entries) snapshot = fail(entries.error());
    if (!snapshot) {
      survey_.findings.push_back(describe_failure(stores_, by_name, where, names::manifest(dir), snapshot.error()));
      return;
    }
    const Identity& id = (*snapshot)->identity();
    survey_.inventory.shared[level].push_back(id);
    survey_.inventory.layouts.emplace((*snapshot)->layout().id(), (*snapshot)->layout());
    for (const SharedSnapshot::Part& part : (*snapshot)->parts()) {
      const auto error = wrong_length(*entries, part.file, part.bytes);
      if (!error) continue;
      Finding finding = describe_failure(stores_, id, where, part.file, *error);
      finding.level = level;
      finding.ranks = part.ranks;
      for (const Rank rank : finding.ranks) survey_.inventory.strikes.insert({where, names::shard(dir, rank).path});
      survey_.findings.push_back(std::move(finding));
    }
    survey_.shared[id].emplace(level, std::move(*snapshot));
  }

  const JobStores& stores_;
  Sealer sealer_;                           // of the store that is looked into
  std::map<std::string, Ignored> ignored_;  // by directory
  Survey survey_;
};

}  // namespace

Sealer JobStores::sealer_at(StoreId holder) const {
  const bool has_mark = !holder.is_shared() || holder == StoreId::global();
  return sealer_of(at(has_mark ? holder : StoreId::global()), sealer);
}

bool JobStores::has(StoreId holder) const {
  if (holder == StoreId::global()) return global != nullptr;
  return holder.is_shared() ? elsewhere.contains(holder) : holder.head() < nodes.size();
}

const Store& JobStores::at(StoreId holder) const {
  if (holder == StoreId::global()) return *global;
  return holder.is_shared() ? *elsewhere.at(holder) : *nodes[holder.head()];
}

std::string JobStores::path_of(StoreId holder, const FileName& file) const {
  return at(holder).where() + "/" + file.path;
}

Result<Survey> take_survey(const JobStores& stores) { return Surveyor(stores).run(); }

std::vector<StoreId> Survey::node_stores() const {
  std::vector<StoreId> stores;
  for (std::uint32_t i = 0; i < by_store.size(); ++i) stores.push_back(StoreId::node(i));
  return stores;
}

const std::map<LevelId, std::shared_ptr<const SharedSnapshot>>& Survey::shared_of(const Identity& snapshot) const {
  static const std::map<LevelId, std::shared_ptr<const SharedSnapshot>> none;
  const auto found = shared.find(snapshot);
  return found == shared.end() ? none : found->second;
}

bool has_record(const Survey& survey, const Identity& snapshot) {
  const auto is_of_it = [&](const RunRecord& record) {
    return record.incarnation == snapshot.incarnation && record.run == snapshot.run;
  };
  const FileName name = names::run_record(snapshot.incarnation, snapshot.run);
  return std::ranges::any_of(survey.runs, is_of_it) ||
         std::ranges::any_of(survey.findings, [&](const Finding& finding) { return finding.file == name; });
}

const NodeManifest* find_manifest(const Survey& survey, StoreId holder, const Identity& snapshot) {
  const auto& manifests = survey.by_store[holder.head()];
  const auto found = std::ranges::find(manifests, snapshot, &NodeManifest::identity);
  return found == manifests.end() ? nullptr : &*found;
}

Finding describe_failure(const JobStores& stores, const Identity& snapshot, StoreId holder, const FileName& file,
                         const Error& error) {
  Finding finding{Finding::State::damaged,      snapshot,    holder, file, {}, {}, 0,
                  stores.path_of(holder, file), error.text()};
  if (error.code == Code::not_found) {
    finding.state = Finding::State::missing;
    finding.what = "does not exist";
    return finding;
  }
  if (error.code != Code::corrupt) finding.state = Finding::State::unreadable;
  if (error.code == Code::newer_format) finding.state = Finding::State::newer;
  if (error.code == Code::untrusted) finding.state = Finding::State::untrusted;
  // Names the place only once.
  for (const std::string& prefix : {finding.where + ": ", file.path + ": "}) {
    if (finding.what.starts_with(prefix)) finding.what.erase(0, prefix.size());
  }
  return finding;
}

}  // namespace cairn
