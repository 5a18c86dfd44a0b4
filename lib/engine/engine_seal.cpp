#include <algorithm>

#include <fmt/format.h>

#include "base/list_text.hpp"
#include "engine/engine.hpp"
#include "level/local_level.hpp"
#include "level/volume.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

Error never_sealed(const std::vector<std::uint32_t>& ranks) {
  return {Code::invalid_argument, fmt::format("{} never sealed it", ranks_text(ranks)),
          "every application rank must make the same snapshot calls"};
}

}  // namespace

// Run by promotions between slices and while they wait, so that a newer snapshot never waits for an older one.
void Engine::tick() {
  if (in_tick_ || broken_) return;
  in_tick_ = true;
  auto worked = receive();
  if (worked) worked = advance_seals();
  if (!worked) break_down(worked.error());
  inquiry_.look(setup_.clock());
  in_tick_ = false;
}

void Engine::hear_seal(Rank from, const Seal& seal) {
  Sealing& sealing = sealing_[seal.version];
  if (!sealing.ranks.empty()) {
    if (sealing.levels != seal.levels) sealing.error = different_levels();
    if (sealing.safe_point != seal.safe_point) {
      sealing.error = different_safe_points(sealing.safe_point, seal.safe_point);
    }
  }
  sealing.safe_point = seal.safe_point;
  sealing.levels = seal.levels;
  sealing.bytes += seal.bytes;
  sealing.ranks.insert(from);
  last_version_ = std::max(last_version_, seal.version);
  if (seal.error) sealing.error = seal.error->in("rank " + std::to_string(from.value));
}

// What a rank says arrives in order: one that has asked for a restore, or for the end, seals nothing meanwhile.
bool Engine::waits_for_something_else(Rank rank) const {
  return restore_requests_.contains(rank) || finalize_requests_.contains(rank);
}

// On all nodes: nothing that was sealed is under way, and nothing comes before the ranks have had their answer.
bool Engine::nothing_is_left() const { return sealing_.empty() && closed_; }

Result<bool> Engine::advance_seals() {
  const bool started = start_vote();
  auto concluded = conclude_votes();
  if (concluded && started) return true;
  return concluded;
}

// Votes are started in the order of versions, which is the same on every head, and concluded in that order. A head
// whose ranks all wait for something else takes part in votes on what others have sealed, until none has anything.
bool Engine::start_vote() {
  if (is_dropped()) return false;
  for (auto& [version, sealing] : sealing_) {
    // A chain's first snapshot takes several votes, and no other comes between them.
    if (sealing.voting && !record_.snapshots) return false;
    if (sealing.voting) continue;
    std::vector<std::uint32_t> left_out;
    for (const Rank rank : ranks_) {
      if (sealing.ranks.contains(rank)) continue;
      if (!waits_for_something_else(rank)) return false;
      left_out.push_back(rank.value);
    }
    if (!left_out.empty()) sealing.error = never_sealed(left_out);
    sealing.vote = Vote::on(version, sealing.levels, sealing.safe_point);
    note_losses(sealing.vote);
    sealing.step = begun_ ? Sealing::Step::seal : Sealing::Step::begin;
    call_vote(version, sealing, begun_ ? seal_here(version, sealing) : begin_here(sealing));
    return true;
  }
  if (!sealing_.empty() || closing_vote_ || closed_) return false;
  if (!std::ranges::all_of(ranks_, [this](Rank rank) { return waits_for_something_else(rank); })) return false;
  closing_ = Vote::on_nothing(node_.me, last_version_, {!restore_requests_.empty(), !finalize_requests_.empty()});
  note_losses(*closing_);
  closing_vote_ = setup_.votes.iallreduce(closing_->words(), Reduce::max);
  return true;
}

void Engine::call_vote(Version version, Sealing& sealing, const Status& mine) {
  if (!mine) {
    sealing.error = mine.error();
    sealing.vote.fail(node_.me, mine.error().code);
  }
  sealing.vote_span = node_.trace.span_beside("vote", version.value);
  sealing.voting = setup_.votes.iallreduce(sealing.vote.words(), Reduce::max);
}

// Somebody may have removed the store, or a part of it, since the last vote. What was there counts no more, on any
// node; and the store is marked again when it takes the next snapshot.
void Engine::note_losses(Vote& vote) {
  const auto entries = node_.local->list(DirName{});
  if (!entries) return;  // whoever writes there next will say why
  const auto is_there = [&](const std::string& name) {
    return std::ranges::find(*entries, name, &Entry::name) != entries->end();
  };
  for (const auto& [id, known] : known_) {
    if (known.manifest.holdings.empty() || known.lost || is_there(node_.dir(id).path)) continue;
    vote.note_lost(id.version);
    node_.log.warning("node {}: {} has lost its files of version {}, which counts as complete no longer",
                      node_.me.value, node_.local->where(), id.version.value);
  }
  if (!marked_ || is_there(names::chain_mark().path)) return;
  marked_ = false;
  contents_.mark.reset();
}

void Engine::heed_losses(const Vote& vote) {
  LevelSet levels;
  for (const LevelId level : {LevelId::local, LevelId::partner, LevelId::erasure}) levels.add(level);
  for (auto& [id, known] : known_) {
    if (!vote.has_lost(id.version)) continue;
    strike(known, levels);
    known.lost = true;
  }
}

Result<bool> Engine::conclude_votes() {
  bool worked = false;
  while (!sealing_.empty() && sealing_.begin()->second.voting) {
    auto done = sealing_.begin()->second.voting->test();
    if (!done) return fail(done.error());
    if (!*done) return worked;
    auto node = sealing_.extract(sealing_.begin());
    node.mapped().vote_span.end();
    heed_losses(node.mapped().vote);
    all_voted_ = true;
    worked = true;
    if (!node.mapped().vote.objection() && goes_on(node.key(), node.mapped())) {
      sealing_.insert(std::move(node));
      return true;
    }
    sealing_voted(node.key(), node.mapped());
  }
  if (!closing_vote_) return worked;
  auto done = closing_vote_->test();
  if (!done) return fail(done.error());
  if (!*done) return worked;
  closing_vote_.reset();
  heed_losses(*closing_);
  all_voted_ = true;
  closed_ = closing_->nothing_is_left();
  last_version_ = std::max(last_version_, closing_->highest());
  if (closed_) different_calls_ = closing_->different_calls();
  return true;
}

// Whether the version needs another vote, after one that went well.
bool Engine::goes_on(Version version, Sealing& sealing) {
  using Step = Sealing::Step;
  sealing.voting.reset();
  if (sealing.step == Step::begin) {
    begun_ = true;
    return true;
  }
  if (sealing.step == Step::record) {
    note_first_snapshot();
    return false;
  }
  if (record_.snapshots) return false;
  sealing.step = Step::record;
  sealing.vote = Vote::on(version, sealing.levels, sealing.safe_point);
  call_vote(version, sealing, leads() ? record_first_snapshot() : Status{});
  return true;
}

// The first snapshot of a life that has restored nothing: before any node writes a manifest, head 0 has recorded the
// life. Else a death in between would leave a part of a snapshot that no life is known to have begun, and a restart
// could not tell it from what is left of one that was whole.
Status Engine::begin_here(const Sealing& sealing) {
  if (sealing.error) return fail(*sealing.error);
  return leads() ? begin_life() : Status{};
}

// Everything that makes a snapshot safe at L1 on this node, before the others are asked.
Status Engine::seal_here(Version version, Sealing& sealing) {
  const auto span = node_.trace.span("seal", version.value, sealing.bytes);
  if (sealing.error) return fail(*sealing.error);
  if (auto status = begin_life(); !status) return status;
  check_space(sealing);
  Known known;
  known.manifest.identity = identity(version);
  known.manifest.safe_point = sealing.safe_point;
  // Only when nothing else is being written there; with a key not before there are digests to check by.
  std::function<void()> between;
  if (sealing.levels.has(LevelId::global) && usable_.has(LevelId::global) && promotions_.empty() &&
      !node_.sealer.has_key()) {
    Level& global = *levels_.at(LevelId::global);
    global.begin(node_, known.manifest.identity);
    between = [&] { global.go_on(known.manifest.identity); };
  }
  std::vector<ShardEntry> own;
  for (const Rank rank : ranks_) {
    auto entry = digest_own_shard(node_, known.manifest.identity, rank, between);
    if (!entry) return fail(entry.error());
    own.push_back(*entry);
  }
  known.manifest.holdings.push_back({node_.layout, node_.me, std::move(own), {}, {}});
  auto status = keep(known.manifest);
  known_[known.manifest.identity] = std::move(known);
  return status;
}

// Once for the whole job: by one of the heads that met it, which knows the cause.
void Engine::log_storage_error(bool here, const Error& error) const {
  if (here && setup_.options.log_storage_errors && fails_for_storage(error.code)) node_.log.error("{}", error.text());
}

void Engine::sealing_voted(Version version, Sealing& sealing) {
  const Identity id = identity(version);
  if (const auto objection = sealing.vote.objection()) {
    const Error error = sealing.error.value_or(*objection).in(fmt::format("version {} is abandoned", version.value));
    log_storage_error(sealing.vote.failed_node() == node_.me, error);
    // The number stays used; what was written of it is given back.
    known_.erase(id);
    for (const auto& [level, strategy] : levels_) strategy->abandon(node_, id);
    if (auto status = retire(node_.dir(id)); !status) node_.log.warning("{}", status.error().text());
    tell_all(Failed{version, LevelSet::of_bits(0xff), error});
    tell_all(Retired{version});
    return;
  }
  retrieval_.reset();  // what it knows is out of date
  retire_orphans();
  Known& known = known_[id];
  state_ = id;
  known.complete.add(LevelId::local);
  known.due = sealing.levels;
  known.due.remove(LevelId::local);
  for (const LevelId level : kAllLevels) {
    if (!usable_.has(level)) known.due.remove(level);
  }
  known.asked = known.due;
  if (!known.due.empty()) promotions_.push_back(id);
  if (known.due.empty()) retire_damaged(known);
  tell_all(Reached{version, LevelId::local});
  retire_old();
}

// From here on the chain has something to lose: a restart that finds nothing must say so, not start fresh. So it is
// written before anyone is told that the snapshot is safe.
Status Engine::record_first_snapshot() {
  const RunRecord before = record_;
  if (record_.parent == RunRecord::Parent::undecided && !known_.empty() &&
      known_.begin()->first.incarnation < node_.incarnation) {
    node_.log.warning("snapshot() was called before restore(): earlier snapshots will not be looked at again");
  }
  note_first_snapshot();
  const Status status = write_record();
  if (!status) record_ = before;
  return status;
}

void Engine::note_first_snapshot() {
  record_.snapshots = true;
  if (record_.parent == RunRecord::Parent::undecided) record_.parent = RunRecord::Parent::fresh;
}

// What a full set of kept snapshots will take, told at the first one.
void Engine::check_space(const Sealing& sealing) {
  if (space_checked_) return;
  space_checked_ = true;
  const KeepCounts& keep = setup_.options.keep;
  const std::uint64_t own = sealing.bytes;
  std::uint64_t needed = own * slots_needed(keep, usable_);
  if (usable_.has(LevelId::partner)) needed += own * node_.layout.copies * (keep.at[1] + 1);
  if (usable_.has(LevelId::erasure)) {
    const auto& group = node_.layout.groups[node_.layout.place_in_group(node_.me).group];
    needed += own * node_.layout.parity * (keep.at[2] + 1) / (group.size() - node_.layout.parity);
  }
  auto free = node_.local->free_bytes();
  if (!free) return;
  const std::uint64_t available = *free + own;
  if (leads()) {
    node_.log.info(
        "a snapshot has {:.1f} MiB on node 0; all that is kept will take about {:.1f} MiB of {} ({:.1f} MiB free)",
        static_cast<double>(own) / kMiB, static_cast<double>(needed) / kMiB, node_.local->where(),
        static_cast<double>(available) / kMiB);
  }
  if (needed <= available) return;
  // No failure yet, and no call's: what does not fit then is told when it does not.
  node_.log.warning(
      "node {}: {} has {} bytes free; the snapshots to be kept will take about {} (give it more room, put [storage] "
      "local elsewhere, or keep fewer: [storage] keep_local, [partner] copies)",
      node_.me.value, node_.local->where(), available, needed);
}

}  // namespace cairn
