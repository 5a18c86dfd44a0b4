#include "restart_loop.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facts.hpp"

namespace ckpt_run {
namespace {

using Kind = cairn::CompletionMark::Kind;

// A life may be killed before its first snapshot; but so many in a row are more likely to have a common cause.
constexpr std::uint32_t kMostRunsWithoutSnapshot = 4;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_among(const std::vector<std::string>& names, const std::string& host) {
  return std::ranges::any_of(names, [&](const std::string& name) { return same_host(name, host); });
}

// "; sick, and replaced by spare hosts: c17"
std::string sick_text(const std::vector<std::string>& sick, const std::vector<std::string>& hosts,
                      const std::vector<std::string>& left) {
  std::vector<std::string> used;
  for (const std::string& host : hosts)
    if (is_among(sick, host)) used.push_back(host);
  std::string text;
  if (!left.empty()) text += fmt::format("; sick, and replaced by spare hosts: {}", fmt::join(left, ", "));
  if (!used.empty()) text += fmt::format("; sick, and used because no spare host is left: {}", fmt::join(used, ", "));
  return text;
}

// Whether the launcher reports success, but a session is open.
bool is_unfinalized(const LifeEnd& end) { return end.code == 0 && !end.ended_here && end.mark.kind == Kind::opened; }

constexpr const char* kFinalize =
    "the session was not finalized. The program must call finalize() (cairn_finalize in C and Fortran) before it ends";

std::string words_of(const LifeEnd& end, const Placement& placement) {
  if (!end.mark.text.empty()) return fmt::format("{}: {}", end.how, end.mark.text);
  if (!end.not_run.empty()) return fmt::format("{}: {}", end.how, end.not_run);
  if (is_unfinalized(end)) return fmt::format("{}, but {}", end.how, kFinalize);
  // The launcher names the rank that was killed.
  return end.how + (end.killed && !end.crashed ? placement.heads_text() : "");
}

// Why the number of ranks cannot change in this job.
std::optional<std::string> why_not_fewer_ranks(const Options& options, const cairn::Config& config) {
  if (!options.fewest) return {};
  const auto range = fmt::format("--ranks {}:{}", *options.fewest, options.ranks);
  const auto& sizes = config.topology.node_size;
  if (sizes.size() > 1)
    return fmt::format(
        "{}: [topology] node_size = {} has a size for each node, which fixes the number of ranks; give one "
        "size for all nodes",
        range, fmt::join(sizes, ","));
  if (!config.restart.elastic)
    return fmt::format("{}: [restart] elastic = off refuses snapshots of another number of ranks; set it to on", range);
  return {};
}

bool is_unrecoverable(const cairn::CompletionMark& mark) {
  return mark.kind == Kind::error && mark.cause && mark.cause->code == cairn::Code::unrecoverable;
}

}  // namespace

// With empty places, each other host has as many ranks as if there were none.
cairn::Result<Placement> RestartLoop::place_ranks() const {
  if (away_.empty()) return place(options_.ranks, options_.spares, config_, hosts_, spare_hosts_);
  const auto full = place(options_.ranks, options_.spares, config_, hosts_, {});
  if (!full) return full;
  const auto left = std::accumulate(full->hosts.begin(), full->hosts.end(), std::size_t{0},
                                    [&](std::size_t sum, const HostRanks& host) {
                                      return sum + (contains(away_, host.host) ? 0 : host.application_ranks.size());
                                    });
  return place(static_cast<std::uint32_t>(left), options_.spares, config_, hosts_in_use(), spare_hosts_);
}

std::vector<std::string> RestartLoop::hosts_in_use() const {
  auto hosts = hosts_;
  std::erase_if(hosts, [&](const std::string& host) { return contains(away_, host); });
  return hosts;
}

Step RestartLoop::first(const std::vector<std::string>& sick_hosts) {
  if (const auto why = why_not_fewer_ranks(options_, config_)) return {*why, {}, kUnusable};
  const auto left = move_from(sick_hosts);
  auto placed = place_ranks();
  if (!placed) return {placed.error().text(), {}, kUnusable};
  placement_ = std::move(*placed);
  return {placement_.text() + sick_text(sick_hosts, hosts_, left), Life{placement_, {}, false, false, first_version()},
          kFinished};
}

Step RestartLoop::not_started(const cairn::Error& error) const {
  if (restarts_ == 0) return {error.text(), {}, kUnusable};
  return give_up(fmt::format("restart {} could not begin: {}", restarts_, error.text()));
}

Step RestartLoop::give_up(const std::string& why) const {
  if (!opened_ || !kept_) return {fmt::format("gave up: {}", why), {}, kGaveUp};
  const auto where = options_.config.empty() ? fmt::format("--local {} --global {} --job {}", config_.storage.local,
                                                           config_.storage.global, config_.job.name)
                                             : fmt::format("--config {}", options_.config);
  return {
      fmt::format(
          "gave up: {}\nThe snapshots are kept: `ckpt-tool list {}` shows them. Once you have removed the cause, {} "
          "restores the newest.",
          why, where, same_command()),
      {},
      kGaveUp};
}

// Whether a life opened no session because a process may have been killed; any other reason lies in the job itself. The
// launcher's code does not show that where the job repairs itself, or where the launcher itself may have failed: then
// one such life is taken for an accident, a second one is not.
bool RestartLoop::may_be_struck(const LifeEnd& end) {
  if (end.killed || end.ended_here) return true;
  return (mends_itself() || end.launcher_failed) && ++unopened_ < 2;
}

bool RestartLoop::mends_itself() const { return config_.recovery.mode != cairn::Config::Recovery::Mode::restart; }

// Such a program may take snapshots in each life, and would be started again and again. Once may be an accident, since
// launchers have reported success after failures. Where the job repairs itself, the code says nothing.
bool RestartLoop::forgets_finalize(const LifeEnd& end) {
  unfinalized_ = is_unfinalized(end) && !mends_itself() ? unfinalized_ + 1 : 0;
  return unfinalized_ == 2;
}

// Whether there is a newer snapshot than before to go on from. The snapshot that a life has restored shows how far the
// lives before it came. Its own snapshots count once a later life can go on from them.
bool RestartLoop::has_come_further(const LifeEnd& end) {
  if (!end.restored) return end.snapshots.value_or(true);
  const auto place = [](const cairn::Identity& snapshot) { return std::pair(snapshot.incarnation, snapshot.version); };
  if (restored_ && place(*end.restored) <= place(*restored_)) return false;
  restored_ = end.restored;
  return true;
}

std::string RestartLoop::same_command() const {
  return version_is_past_ && !options_.from.empty() ? "the same command without --from" : "the same command";
}

std::string RestartLoop::first_version() const {
  return from_.empty() ? std::string() : fmt::format("{} again", from_);
}

// The version that the next life restores. It is chosen once. As long as no life is known to have restored it, the next
// one is told so again, in a way that does not choose twice if the records of lives could not be read.
std::string RestartLoop::version_after(const LifeEnd& end) {
  if (from_.empty()) return {};
  version_is_past_ |= end.restored.has_value();
  if (version_is_past_) return "newest";
  return fmt::format("{}{}", from_, end.snapshots ? " again" : "");
}

// "; older versions that can be restored: 6, 4 (--step-back, or --from 6)"
std::string RestartLoop::older_text(const LifeEnd& end) const {
  if (runs_without_snapshot_ == 0 || end.older.versions.empty()) return {};
  return fmt::format("; older versions that can be restored: {} (--step-back, or --from {})",
                     fmt::join(end.older.versions, ", "), end.older.versions.front());
}

// Whether the next life restores an older version. Two lives in a row must have restored the same snapshot and died
// without a newer one. Where stores of other hosts may have a newer one, only the next life shows that.
bool RestartLoop::step_back(const LifeEnd& end) {
  const std::uint32_t least = end.older.all_seen ? 1 : 2;
  const bool has_failed = end.restored && !is_unfinalized(end) && end.lost_hosts.empty();
  if (!options_.step_back || !has_failed || runs_without_snapshot_ < least || end.older.versions.empty()) return false;
  from_ = std::to_string(end.older.versions.front());
  version_is_past_ = false;
  restored_.reset();
  runs_without_snapshot_ = 0;
  last_cause_.reset();
  return true;
}

// Whether another start would end as this life did.
std::optional<std::string> RestartLoop::why_not_restart(const LifeEnd& end) {
  if (!opened_ && !may_be_struck(end) && end.lost_hosts.empty())
    return fmt::format(
        "{}, and no Cairn session was opened; a restart would end in the same way. Correct the error above", end.how);
  if (forgets_finalize(end)) return fmt::format("two runs in a row ended with code 0, but {}", kFinalize);
  if (has_come_further(end) || !end.lost_hosts.empty()) {
    runs_without_snapshot_ = 0;
    last_cause_.reset();
    return {};
  }
  ++runs_without_snapshot_;
  if (end.mark.kind == Kind::failed && end.mark.cause && end.mark.cause->is_first() && end.mark.cause == last_cause_)
    return fmt::format("it failed twice in the same way without a new snapshot: {}", end.mark.text);
  last_cause_ = end.mark.cause;
  if (runs_without_snapshot_ < kMostRunsWithoutSnapshot) return {};
  return fmt::format("{} runs in a row ended without a newer snapshot; the last one: {}", runs_without_snapshot_,
                     words_of(end, placement_));
}

// Gives the lost hosts' places to spare hosts, so that all other ranks stay where their stores are.
std::optional<std::string> RestartLoop::replace(const std::vector<std::string>& lost) {
  std::erase_if(spare_hosts_, [&](const std::string& host) { return contains(lost, host); });
  std::vector<std::string> homeless;
  for (std::string& host : hosts_) {
    if (!contains(lost, host)) continue;
    if (spare_hosts_.empty()) {
      homeless.push_back(host);
      continue;
    }
    host = spare_hosts_.front();
    spare_hosts_.erase(spare_hosts_.begin());
  }
  if (homeless.empty()) return {};
  if (options_.fewest) return go_on_without(homeless);
  if (!options_.shrink_hosts || homeless.size() == hosts_.size()) {
    const bool may_have_fewer = config_.restart.elastic && config_.topology.node_size.size() <= 1;
    return fmt::format(
        "no answer from {}, and no spare host is left; add spare hosts (--spare-hosts), allow fewer hosts with more "
        "ranks each (--shrink-hosts){}",
        fmt::join(homeless, ", "), may_have_fewer ? ", or allow fewer ranks (--ranks MIN:MAX)" : "");
  }
  std::erase_if(hosts_, [&](const std::string& host) { return contains(homeless, host); });
  return {};
}

// Leaves the places of lost hosts empty, until they are back.
std::optional<std::string> RestartLoop::go_on_without(const std::vector<std::string>& lost) {
  away_.insert(away_.end(), lost.begin(), lost.end());
  const auto ranks = hosts_in_use().empty() ? 0 : place_ranks().value_or(Placement{}).application;
  if (ranks >= *options_.fewest) return {};
  return fmt::format(
      "no answer from {}, and no spare host is left; the other hosts have {} of the {} ranks that --ranks "
      "{}:{} requires at least",
      fmt::join(lost, ", "), ranks, *options_.fewest, *options_.fewest, options_.ranks);
}

// Sick hosts become the last of the spare ones. What they hold is not seen by the next life, so a snapshot that they
// alone have is not restored.
std::vector<std::string> RestartLoop::move_from(const std::vector<std::string>& sick) {
  before_move_.reset();
  if (!may_move_ || sick.empty()) return {};
  const Hosts before{hosts_, spare_hosts_};
  const auto well = std::stable_partition(spare_hosts_.begin(), spare_hosts_.end(),
                                          [&](const std::string& host) { return !is_among(sick, host); });
  auto left_to_take = well - spare_hosts_.begin();
  std::vector<std::string> left;
  for (std::string& host : hosts_) {
    if (left_to_take == 0 || !is_among(sick, host)) continue;
    left.push_back(host);
    std::swap(host, spare_hosts_.front());
    std::rotate(spare_hosts_.begin(), spare_hosts_.begin() + 1, spare_hosts_.end());
    --left_to_take;
  }
  if (!left.empty()) before_move_ = before;
  return left;
}

// The life has failed because it was moved, as far as can be known: nothing has been restored, nor a snapshot taken.
std::optional<Step> RestartLoop::move_back(const LifeEnd& end) {
  if (!before_move_ || end.mark.kind != Kind::error || end.snapshots.value_or(false)) return {};
  hosts_ = before_move_->hosts;
  spare_hosts_ = before_move_->spares;
  before_move_.reset();
  may_move_ = false;
  auto placed = place_ranks();
  if (!placed) return give_up(placed.error().text());
  placement_ = std::move(*placed);
  ++restarts_;
  return Step{fmt::format("{}; the job cannot continue without its sick hosts, and is started on them; restart {}: {}",
                          words_of(end, placement_), restarts_, placement_.text()),
              Life{placement_, {}, goes_on_, false, version_after(end)}, kFinished};
}

cairn::FailureTopology RestartLoop::topology_of(const std::vector<std::string>& lost) const {
  cairn::FailureTopology failures;
  for (const HostRanks& host : placement_.hosts) {
    if (!contains(lost, host.host)) continue;
    failures.lost_nodes.insert(failures.lost_nodes.end(), host.nodes.begin(), host.nodes.end());
    failures.dead_ranks.insert(failures.dead_ranks.end(), host.application_ranks.begin(), host.application_ranks.end());
  }
  return failures;
}

// An error code after the mark is the application's: its results may be wrong, or not written. But where a job repairs
// itself, the code may come from failures that it has repaired.
Step RestartLoop::finished(const LifeEnd& end) const {
  const int code = end.ended_here || mends_itself() ? kFinished : end.code;
  const auto more = end.code == 0 ? "" : fmt::format("; then {}", end.how);
  if (end.mark.kind == Kind::stopped && options_.last_call)
    return {fmt::format("the run ends after {} calls of snapshot()", *options_.last_call), {}, kFinished};
  if (end.mark.kind == Kind::stopped)
    return {fmt::format("stopped on request; the same command continues from here{}", more), {}, code};
  if (restarts_ == 0 && end.code == 0) return {{}, {}, code};
  if (restarts_ == 0) return {fmt::format("the job finished{}", more), {}, code};
  return {fmt::format("finished after {} restart{}{}", restarts_, restarts_ == 1 ? "" : "s", more), {}, code};
}

// The end of a job that has not come to a session in any life, if its program cannot be started, or has no session.
std::optional<Step> RestartLoop::never_opened(const LifeEnd& end) const {
  if (opened_ || !end.lost_hosts.empty()) return {};
  if (!end.not_run.empty()) return Step{"the program cannot be run: " + end.not_run, {}, kUnusable};
  if (end.code != 0 || end.ended_here || mends_itself()) return {};
  return Step{fmt::format("{}, and the program opened no Cairn session: it has finished", end.how), {}, kFinished};
}

Step RestartLoop::after(const LifeEnd& end) {
  if (end.mark.kind == Kind::finished || end.mark.kind == Kind::stopped) return finished(end);
  kept_ = end.kept.value_or(true);
  if (end.interrupted) {
    const std::string next =
        kept_ ? fmt::format("; {} restores its newest snapshot", same_command()) : "; it has no snapshot yet";
    return {fmt::format("interrupted: the job was ended{}", next), {}, kInterrupted};
  }
  opened_ |= end.opened;
  goes_on_ |= end.snapshots.value_or(false);
  if (auto step = never_opened(end)) return std::move(*step);
  if (auto back = move_back(end)) return std::move(*back);
  const bool fresh = options_.fresh_if_unrecoverable && is_unrecoverable(end.mark);
  if (end.mark.kind == Kind::error && !fresh) return give_up(end.mark.text);
  const auto why_not = why_not_restart(end);
  const std::string older = options_.step_back ? std::string() : older_text(end);
  const bool steps_back = step_back(end);
  if (why_not && !steps_back) return give_up(*why_not + older);
  if (restarts_ >= options_.max_restarts)
    return give_up(
        fmt::format("{}; no restart is left (--max-restarts {})", words_of(end, placement_), options_.max_restarts));

  std::erase_if(away_, [&](const std::string& host) { return contains(end.back_hosts, host); });
  if (const auto why = replace(end.lost_hosts)) return give_up(*why);
  const auto how = words_of(end, placement_);
  const auto left = move_from(end.sick_hosts);
  auto gone = end.lost_hosts;
  gone.insert(gone.end(), left.begin(), left.end());
  auto failures = topology_of(gone);
  for (const std::uint32_t rank : end.dead_ranks)
    if (std::ranges::find(failures.dead_ranks, rank) == failures.dead_ranks.end()) failures.dead_ranks.push_back(rank);
  auto placed = place_ranks();
  if (!placed) return give_up(placed.error().text());
  placement_ = std::move(*placed);
  ++restarts_;
  version_is_past_ |= fresh;
  const std::string version = fresh ? "newest" : steps_back ? first_version() : version_after(end);
  const auto lost = end.lost_hosts.empty() ? "" : fmt::format("; lost: {}", fmt::join(end.lost_hosts, ", "));
  const auto back = end.back_hosts.empty() ? "" : fmt::format("; back: {}", fmt::join(end.back_hosts, ", "));
  const std::string turn = fresh        ? "; the job starts fresh (--fresh-if-unrecoverable)"
                           : steps_back ? fmt::format("; the job rolls back to version {} (--step-back)", from_)
                                        : older;
  return {fmt::format("{}{}{}{}{}; restart {}: {}", how, lost, back, sick_text(end.sick_hosts, hosts_in_use(), left),
                      turn, restarts_, placement_.text()),
          Life{placement_, std::move(failures), goes_on_ && !fresh, fresh, version}, kFinished};
}

}  // namespace ckpt_run
