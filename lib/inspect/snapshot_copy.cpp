#include "inspect/snapshot_copy.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/log.hpp"
#include "format/pins.hpp"
#include "level/global_files.hpp"
#include "recover/belonging.hpp"
#include "recover/chain.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

bool is_of_life(const RunRecord& record, Incarnation incarnation, RunId run) {
  return record.incarnation == incarnation && record.run == run;
}

// Without a record, the life that took the snapshot is taken for the job's first.
RunRecord record_for(const Survey& survey, const Identity& snapshot) {
  const auto known = std::ranges::find_if(
      survey.runs, [&](const RunRecord& record) { return is_of_life(record, snapshot.incarnation, snapshot.run); });
  RunRecord record{snapshot.incarnation, snapshot.run, RunRecord::Parent::fresh, {}};
  if (known != survey.runs.end()) {
    record.parent = known->parent;
    record.parent_snapshot = known->parent_snapshot;
  }
  record.snapshots = true;
  return record;
}

// A job has continued there, or it is another job of the same name.
Status check_runs(const Store& to, const std::vector<Entry>& entries, const Survey& survey, CopyPlace& place) {
  for (const Entry& entry : entries) {
    const auto run = names::parse_run_record(entry.name);
    if (!run) continue;
    const bool is_own = is_of_life(place.record, run->incarnation, run->run);
    place.has_record |= is_own;
    const bool is_known = std::ranges::any_of(
        survey.runs, [&](const RunRecord& record) { return is_of_life(record, run->incarnation, run->run); });
    if (is_own || is_known) continue;
    return fail(Code::mismatch, fmt::format("{}: {} is of a run that the job does not have", to.where(), entry.name),
                "copy to another directory");
  }
  return {};
}

// A run that starts there would remove snapshots that are older than the newest fresh start.
Status check_starts(const Store& to, const Chain& chain, const CopyPlace& place, const Identity& snapshot) {
  Incarnation start = chain.fresh_start;
  if (place.record.parent == RunRecord::Parent::fresh) start = std::max(start, place.record.incarnation);
  std::vector<Identity> all = chain.global;
  all.push_back(snapshot);
  for (const Identity& one : all) {
    if (one.incarnation >= start) continue;
    return fail(Code::mismatch,
                fmt::format("{}: the job has started fresh after version {}", to.where(), one.version.value),
                "copy to another directory");
  }
  return {};
}

// Of a snapshot whose removal was begun: false, so it is written again.
Result<bool> has_snapshot(const Store& to, const Identity& snapshot, const Sealer& sealer) {
  const auto manifest = read_global_manifest(to, names::snapshot(snapshot), sealer);
  if (manifest) return manifest->identity == snapshot;
  if (manifest.error().code == Code::not_found) return false;
  return fail(manifest.error().in(to.where()));
}

class Copier {
 public:
  Copier(SnapshotReader& reader, const SnapshotView& snapshot, const Sealer& sealer, Store& to,
         const SnapshotReader::Progress& progress)
      : reader_(reader), snapshot_(snapshot), sealer_(sealer), to_(to), progress_(progress) {}

  // Into `dir`.
  Status write(const DirName& dir) {
    std::vector<NodeReport> nodes;
    for (std::uint32_t i = 0; i < snapshot_.layout.nodes; ++i) {
      auto report = write_node(dir, NodeId{i});
      if (!report && reader_.find_good_sources(report.error()) && reader_.missing().empty())
        report = write_node(dir, NodeId{i});
      if (!report) return fail(report.error());
      for (const ShardEntry& shard : report->shards) done_bytes_ += shard.bytes;
      if (progress_) progress_(done_bytes_, std::max(done_bytes_, snapshot_.bytes));
      nodes.push_back(std::move(*report));
    }
    GlobalManifest draft{snapshot_.identity, safe_point_, snapshot_.layout, {}, {}};
    draft.notes = snapshot_.notes;
    return write_master_and_manifest(to_, dir, std::move(draft), std::move(nodes), sealer_)
        .map([](const GlobalManifest&) {});
  }

 private:
  Result<NodeReport> write_node(const DirName& dir, NodeId node) {
    NodeReport report;
    std::vector<CheckedShard> shards;
    for (std::uint32_t rank = 0; rank < snapshot_.layout.node_of_rank.size(); ++rank) {
      if (snapshot_.layout.node_of_rank[rank] != node) continue;
      auto checked = reader_.checked(Rank{rank}, sealer_.has_key());
      if (!checked) return fail(checked.error());
      const auto shard = Shard::of(checked->shard());
      if (!shard) return fail(shard.error());
      report.shards.push_back(reader_.entry(Rank{rank}));
      report.tables.push_back(shard->regions());
      safe_point_ = shard->header().safe_point;
      shards.push_back(std::move(*checked));
    }
    Workers alone(0);
    auto file =
        NodeFileWriter::begin(to_, names::node_file(dir, node), std::move(shards)).and_then([&](NodeFileWriter writer) {
          return writer.finish(report.shards, alone, [] {});
        });
    if (!file) return fail(file.error());
    report.file = *file;
    return report;
  }

  SnapshotReader& reader_;
  const SnapshotView& snapshot_;
  const Sealer& sealer_;
  Store& to_;
  const SnapshotReader::Progress& progress_;
  std::uint64_t safe_point_ = 0;
  std::uint64_t done_bytes_ = 0;
};

// The record says that there are snapshots to lose once one is there.
Status put_in_place(const DirName& partial, const DirName& dir, const Sealer& sealer, Store& to,
                    const CopyPlace& place) {
  RunRecord record = place.record;
  record.snapshots = false;
  Status status = place.has_record ? Status{} : write_run_record(to, record, sealer);
  // What is there under this name was no snapshot when it was looked at.
  if (status) status = to.remove_directory(dir);
  if (status) status = to.rename_directory(partial, dir);
  if (!status || place.has_record) return status;
  return write_run_record(to, place.record, sealer);
}

}  // namespace

Result<CopyPlace> look_at_copy_place(const Store* to, const Sealer& sealer, const Survey& survey,
                                     const Identity& snapshot, RunId fresh) {
  CopyPlace place{{fresh, {}}, false, record_for(survey, snapshot)};
  if (to == nullptr) return place;
  place.mark.global = to->where();
  const auto entries = to->list(DirName{});
  if (!entries) return fail(entries.error());
  const auto mark = read_chain_mark(*to, *entries, Log::silent(), sealer);
  if (mark) {
    place.mark = *mark;
    place.has_mark = true;
  } else if (mark.error().code != Code::not_found) {
    return fail(mark.error().in(to->where()));
  }
  const auto chain = read_chain(*to, Log::silent(), sealer);
  if (!chain) return fail(chain.error());
  if (!chain->unreadable.empty()) return fail(chain->unreadable.front().error.in(to->where()));
  const auto has = has_snapshot(*to, snapshot, place.has_mark ? sealer.of_chain(place.mark.id) : sealer);
  if (!has) return fail(has.error());
  place.has_snapshot = *has;
  return check_runs(*to, *entries, survey, place)
      .and_then([&] { return check_starts(*to, *chain, place, snapshot); })
      .map([&] { return std::move(place); });
}

Status copy_snapshot(SnapshotReader& reader, const SnapshotView& snapshot, const Sealer& sealer, Store& to,
                     const CopyPlace& place, const SnapshotReader::Progress& progress) {
  if (place.has_snapshot) return {};
  const Sealer in_chain = sealer.of_chain(place.mark.id);
  const DirName partial = names::partial_snapshot(snapshot.identity.version, snapshot.identity.run);
  Status status = to.remove_directory(partial);
  if (status && !place.has_mark) status = write_chain_mark(to, {place.mark.id, to.where()}, sealer);
  if (status) status = Copier(reader, snapshot, in_chain, to, progress).write(partial);
  if (status) status = put_in_place(partial, names::snapshot(snapshot.identity), in_chain, to, place);
  if (!status) (void)to.remove_directory(partial);
  return status;
}

Result<bool> pin_snapshot(const JobStores& stores, const Survey& survey, const SnapshotView& snapshot, Store& global,
                          RunId fresh, const SnapshotReader::Progress& progress) {
  const Status pinned = pin(global, snapshot.identity, stores.sealer_at(StoreId::global()));
  if (!pinned) return fail(pinned.error());
  if (!survey.shared_of(snapshot.identity).empty()) return true;
  const auto promote = [&]() -> Status {
    auto reader = SnapshotReader::open(stores, survey, snapshot);
    if (!reader) return fail(reader.error());
    const auto place = look_at_copy_place(&global, stores.sealer, survey, snapshot.identity, fresh);
    if (!place) return fail(place.error());
    return copy_snapshot(*reader, snapshot, stores.sealer, global, *place, progress);
  };
  if (auto status = promote(); !status)
    return fail(status.error().in(
        fmt::format("version {} is not pinned, since it was not written to L4", snapshot.identity.version.value)));
  return false;
}

}  // namespace cairn
