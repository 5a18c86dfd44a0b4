#include "inspect/audit.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "store/names.hpp"

namespace cairn {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{100};

bool same_snapshot(const Identity& a, const Identity& b) { return a.version == b.version && a.run == b.run; }

using Clock = std::chrono::steady_clock;

// A running job seals and retires node by node, so one store may be a moment ahead of another. A snapshot is in flux
// while nodes are absent and there are stores without it, which could belong to those nodes.
bool is_in_flux(const Survey& survey, const SnapshotView& view) {
  if (view.absent.empty()) return false;
  for (const StoreId holder : survey.node_stores()) {
    const bool unreadable = std::ranges::any_of(survey.findings, [&](const Finding& finding) {
      return finding.holder == holder && !finding.level && same_snapshot(finding.snapshot, view.identity);
    });
    if (!unreadable && find_manifest(survey, holder, view.identity) == nullptr) return true;
  }
  return false;
}

// When a life has just begun, a node may have its snapshot before the record is there.
bool lacks_record(const JobStores& stores, const Survey& survey, const Identity& snapshot) {
  return stores.global && !has_record(survey, snapshot);
}

// Looks again until no snapshot for which `matters` is true is in flux, but not after `until`.
template <class Matters>
Result<Survey> survey_settled(const JobStores& stores, Clock::time_point until, Matters matters) {
  while (true) {
    auto survey = take_survey(stores);
    if (!survey || Clock::now() >= until) return survey;
    const bool settled = std::ranges::none_of(view_snapshots(*survey), [&](const SnapshotView& view) {
      return matters(view.identity) && (is_in_flux(*survey, view) || lacks_record(stores, *survey, view.identity));
    });
    if (settled) return survey;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

// A node of the snapshot's layout that no store stands for.
Finding absence_of(const SnapshotView& view, NodeId node, LevelId own) {
  Finding finding;
  finding.state = Finding::State::missing;
  finding.snapshot = view.identity;
  finding.level = own;
  finding.ranks = view.layout.ranks_on(node);
  finding.where = "node " + std::to_string(node.value);
  finding.what =
      "none of the stores that were read has its part of version " + std::to_string(view.identity.version.value);
  return finding;
}

// Whether a manifest of a node store could not be read, which may be that of an absent node.
bool has_unreadable_manifest(const SnapshotAudit& audit) {
  return std::ranges::any_of(audit.findings, [](const Finding& finding) {
    return finding.state == Finding::State::unreadable && !finding.level && finding.holder != StoreId::global();
  });
}

// Nodes that no store stands for: missing if a later look does not find them either; otherwise the snapshot was in
// flux.
void add_absences(const JobStores& stores, Clock::time_point until, SnapshotAudit& audit) {
  if (audit.view.absent.empty()) return;
  const Identity& id = audit.view.identity;
  const auto now = survey_settled(stores, until, [&](const Identity& other) { return other == id; });
  const auto views = now ? view_snapshots(*now) : std::vector<SnapshotView>{audit.view};
  const auto same = std::ranges::find(views, id, &SnapshotView::identity);
  const bool unreadable = has_unreadable_manifest(audit);
  for (const NodeId node : audit.view.absent) {
    Finding finding = absence_of(audit.view, node, stores.levels.of_own_shards());
    if (unreadable) {
      finding.state = Finding::State::unreadable;
      finding.what = "its part may be in a store whose manifest cannot be read";
    }
    const bool still = same != views.end() && std::ranges::find(same->absent, node) != same->absent.end();
    if (!still) {
      finding.state = Finding::State::retired;
      finding.what = "its part was being written or retired";
    }
    audit.findings.push_back(std::move(finding));
  }
}

// Without its record a life is not in the chain: a restart may take its snapshot for one of another life.
Finding lack_of_record(const JobStores& stores, const Identity& snapshot) {
  Finding finding;
  finding.state = Finding::State::missing;
  finding.snapshot = {snapshot.incarnation, {}, snapshot.run};
  finding.file = names::run_record(snapshot.incarnation, snapshot.run);
  finding.where = stores.path_of(StoreId::global(), finding.file);
  finding.what =
      fmt::format("does not exist; it is the record of the run that took version {}", snapshot.version.value);
  return finding;
}

// Records, and manifests of snapshots that nothing else names.
void add_others(const JobStores& stores, const Survey& survey, const AuditOptions& options, Audit& audit) {
  const auto is_of_these = [&](const Identity& life) {
    return std::ranges::any_of(audit.snapshots,
                               [&](const SnapshotAudit& snapshot) { return snapshot.view.identity.run == life.run; });
  };
  for (const Finding& finding : survey.findings) {
    const bool is_record = finding.snapshot.version.value == 0;
    if (options.version && (is_record ? !is_of_these(finding.snapshot) : finding.snapshot.version != *options.version))
      continue;
    const bool told = std::ranges::any_of(audit.snapshots, [&](const SnapshotAudit& snapshot) {
      return same_snapshot(snapshot.view.identity, finding.snapshot);
    });
    if (!told) audit.others.push_back(finding);
  }
  std::set<FileName> told;
  for (const SnapshotAudit& snapshot : audit.snapshots) {
    if (!lacks_record(stores, survey, snapshot.view.identity)) continue;
    Finding finding = lack_of_record(stores, snapshot.view.identity);
    if (told.insert(finding.file).second) audit.others.push_back(std::move(finding));
  }
}

// Everything that is not good, as strikes for the plan.
void strike(const SnapshotAudit& audit, Inventory& inventory) {
  for (const Finding& finding : audit.findings) {
    if (finding.state == Finding::State::good || finding.file.path.empty()) continue;
    inventory.strikes.insert({finding.holder, finding.file.path});
    if (!finding.level || !finding.holder.is_shared()) continue;
    const DirName dir = names::snapshot(finding.snapshot);
    for (const Rank rank : finding.ranks) inventory.strikes.insert({finding.holder, names::shard(dir, rank).path});
  }
}

void examine(const JobStores& stores, Survey& survey, Clock::time_point until, AuditProgress& progress,
             SnapshotAudit& audit) {
  for (const Finding& finding : survey.findings) {
    if (same_snapshot(finding.snapshot, audit.view.identity)) audit.findings.push_back(finding);
  }
  const AuditStep step{stores, survey, progress, audit};
  step.node_files();
  step.entries();
  step.parity_data();
  step.shared_files();
  add_absences(stores, until, audit);
  std::ranges::stable_sort(audit.findings, {}, [](const Finding& f) { return std::tie(f.holder, f.file.path); });
  strike(audit, survey.inventory);
  audit.recovery = plan_recovery(survey, audit.view);
}

template <class Findings>
std::size_t count_in(const Findings& findings, Finding::State state) {
  return static_cast<std::size_t>(std::ranges::count(findings, state, &Finding::state));
}

}  // namespace

std::size_t SnapshotAudit::count(Finding::State state) const { return count_in(findings, state); }

std::size_t Audit::count(Finding::State state) const {
  std::size_t sum = count_in(others, state);
  for (const SnapshotAudit& snapshot : snapshots) sum += snapshot.count(state);
  return sum;
}

Result<Audit> audit_stores(const JobStores& stores, const AuditOptions& options) {
  auto survey = survey_settled(stores, Clock::now() + options.patience,
                               [&](const Identity& id) { return !options.version || id.version == *options.version; });
  if (!survey) return fail(survey.error());
  const Clock::time_point until = Clock::now() + options.patience;
  Audit audit;
  audit.fresh_start = survey->fresh_start;
  audit.branch = survey->branch;
  AuditProgress progress(options);
  for (SnapshotView& view : view_snapshots(*survey)) {
    if (options.version && view.identity.version != *options.version) continue;
    audit.snapshots.push_back({std::move(view), {}, {}, {}});
    progress.expect(AuditStep{stores, *survey, progress, audit.snapshots.back()}.bytes());
  }
  for (SnapshotAudit& snapshot : audit.snapshots) examine(stores, *survey, until, progress, snapshot);
  add_others(stores, *survey, options, audit);
  std::ranges::copy_if(survey->ignored, std::back_inserter(audit.ignored),
                       [&](const Ignored& one) { return !options.version || one.version == *options.version; });
  audit.bytes_read = progress.done();
  return audit;
}

void AuditProgress::begin(std::uint64_t bytes) { left_ = bytes; }

void AuditProgress::piece(std::uint64_t bytes) {
  const std::uint64_t now = std::min(bytes, left_);
  left_ -= now;
  done_ += now;
  if (options_.progress) options_.progress(std::min(done_, total_), total_);
}

void AuditProgress::end() { piece(left_); }

}  // namespace cairn
