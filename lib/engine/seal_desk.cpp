#include "engine/seal_desk.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/list_text.hpp"
#include "level/local_level.hpp"
#include "level/volume.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

Error never_sealed(const std::vector<std::uint32_t>& ranks) {
  return {Code::invalid_argument, fmt::format("{} did not call snapshot() for it", ranks_text(ranks)),
          "every application rank must make the same snapshot calls"};
}

// Its head's message may come after the vote. A rank that learns of an abandoned version must find its next call
// refused. All ranks have made the call of this version by now, so any later one counts as more calls than 0.
RankLeft left_before(Version version, RankLeft left) {
  left.version = Version{version.value - 1};
  left.calls = 0;
  return left;
}

}  // namespace

void SealDesk::receive(Rank from, const Seal& seal) {
  Sealing& sealing = sealing_[seal.version];
  if (!sealing.ranks.empty()) {
    if (sealing.levels != seal.levels) sealing.error = different_levels(sealing.levels, seal.levels);
    if (sealing.safe_point != seal.safe_point) {
      sealing.error = different_safe_points(sealing.safe_point, seal.safe_point);
    }
  }
  if (auto different = sealing.notes.add(seal.notes)) sealing.error = std::move(different);
  sealing.safe_point = seal.safe_point;
  sealing.levels = seal.levels;
  sealing.bytes += seal.bytes;
  sealing.pin |= seal.pin;
  if (!seal.destinations.empty()) sealing.destinations[from] = seal.destinations;
  sealing.ranks.insert(from);
  last_version_ = std::max(last_version_, seal.version);
  if (seal.error) sealing.error = seal.error->in("rank " + std::to_string(from.value));
}

void SealDesk::check_invariants() const {
  check(sealing_.empty() || sealing_.rbegin()->first <= last_version_);
  check(!closing_vote_ || (closing_ && !closed_));
  bool may_be_voted_on = true;
  for (const auto& [version, sealing] : sealing_) {
    check(!sealing.voting || may_be_voted_on);  // votes are taken in the order of versions
    may_be_voted_on = may_be_voted_on && sealing.voting != nullptr;
  }
}

Result<bool> SealDesk::advance() {
  const bool started = start_vote();
  auto concluded = conclude_votes();
  if (concluded && started) return true;
  return concluded;
}

// Votes are started in the order of versions, which is the same on every head, and concluded in that order. A head
// whose ranks all wait for something else takes part in votes on what others have sealed, until none has anything.
bool SealDesk::start_vote() {
  // Not for a rank that is gone: what is being raised is done first.
  if (promoter_.idle() && head_.is_dropped()) return false;
  for (auto& [version, sealing] : sealing_) {
    // A chain's first snapshot takes several votes, and no other comes between them.
    if (sealing.voting && !life_.has_snapshots()) return false;
    if (sealing.voting) continue;
    std::vector<std::uint32_t> left_out;
    for (const Rank rank : head_.ranks) {
      if (sealing.ranks.contains(rank)) continue;
      if (!head_.requests.waits(rank)) return false;
      left_out.push_back(rank.value);
    }
    if (!left_out.empty()) sealing.error = never_sealed(left_out);
    sealing.vote = Vote::on(version, sealing.levels, sealing.safe_point);
    note_losses(sealing.vote);
    sealing.notes.put_into(sealing.vote);
    if (sealing.pin) sealing.vote.note_pin();
    sealing.offered = change_.offer(sealing.vote);
    if (head_.left && version > head_.left->version) sealing.vote.note_left(*head_.left);
    sealing.step = life_.begun() ? Sealing::Step::seal : Sealing::Step::begin;
    call_vote(version, sealing, life_.begun() ? seal_here(version, sealing) : begin_here(sealing));
    return true;
  }
  if (!sealing_.empty() || closing_vote_ || closed_) return false;
  if (!std::ranges::all_of(head_.ranks, [this](Rank rank) { return head_.requests.waits(rank); })) return false;
  start_closing_vote();
  return true;
}

void SealDesk::start_closing_vote() {
  const Requests& requests = head_.requests;
  Vote::Waiting waiting{{}, !requests.finalize.empty()};
  for (const auto& [rank, request] : requests.restore) waiting.for_restore.push_back(request);
  closing_ = Vote::on_nothing(head_.node.me, last_version_, waiting);
  note_losses(*closing_);
  if (head_.left) closing_->note_left(*head_.left);
  closing_vote_ = head_.votes->iallreduce(closing_->words(), Reduce::max);
}

void SealDesk::call_vote(Version version, Sealing& sealing, const Status& mine) {
  if (!mine) {
    sealing.error = mine.error();
    sealing.vote.fail(head_.node.me, mine.error().code);
  }
  sealing.vote_span = head_.node.trace.span_beside("vote", version.value);
  sealing.voting = head_.votes->iallreduce(sealing.vote.words(), Reduce::max);
}

// Somebody may have removed the store, or a part of it, since the last vote. What was there no longer counts, on any
// node; and the store is marked again when it takes the next snapshot.
void SealDesk::note_losses(Vote& vote) {
  const Catalog::Losses losses = catalog_.look_for_losses();
  for (const Version version : losses.versions) vote.note_lost(version);
  if (losses.mark) life_.lose_mark();
}

void SealDesk::strike_losses(const Vote& vote) {
  for (auto& [id, known] : catalog_.known) {
    if (!vote.has_lost(id.version)) continue;
    known.strike(head_.node.levels.in_node_stores());
    known.lost = true;
  }
}

Result<bool> SealDesk::conclude_votes() {
  bool worked = false;
  while (!sealing_.empty() && sealing_.begin()->second.voting) {
    auto done = sealing_.begin()->second.voting->test();
    if (!done) return fail(done.error());
    if (!*done) return worked;
    auto node = sealing_.extract(sealing_.begin());
    node.mapped().vote_span.end();
    strike_losses(node.mapped().vote);
    all_voted_ = true;
    worked = true;
    if (!node.mapped().vote.objection() && goes_on(node.key(), node.mapped())) {
      sealing_.insert(std::move(node));
      return true;
    }
    conclude(node.key(), node.mapped());
  }
  if (!closing_vote_) return worked;
  auto done = closing_vote_->test();
  if (!done) return fail(done.error());
  if (!*done) return worked;
  closing_vote_.reset();
  strike_losses(*closing_);
  all_voted_ = true;
  closed_ = closing_->nothing_is_left();
  last_version_ = std::max(last_version_, closing_->highest());
  if (closed_) different_calls_ = closing_->different_calls();
  if (closed_) {
    request_ = closing_->request();
    for_label_ = request_ && closing_->is_for_label();
    const auto& waiting = head_.requests.restore;
    if (request_ && !waiting.empty()) request_->label = waiting.begin()->second.label;
  }
  return true;
}

// Whether the version needs another vote, after one that went well.
bool SealDesk::goes_on(Version version, Sealing& sealing) {
  using Step = Sealing::Step;
  sealing.voting.reset();
  if (sealing.step == Step::seal) sealing.pin = sealing.vote.has_pin();  // of any rank
  if (sealing.step == Step::begin) {
    life_.has_begun();
    return true;
  }
  if (sealing.step == Step::record) {
    life_.note_first_snapshot();
    return false;
  }
  if (life_.has_snapshots()) return false;
  sealing.step = Step::record;
  sealing.vote = Vote::on(version, sealing.levels, sealing.safe_point);
  call_vote(version, sealing, head_.node.leads() ? life_.record_first_snapshot() : Status{});
  return true;
}

// The first snapshot of a life that has restored nothing: before any node writes a manifest, head 0 has recorded the
// life. Otherwise a death in between would leave a part of a snapshot of a life that is not recorded, and a restart
// could not tell it from the rest of a snapshot that was once whole.
Status SealDesk::begin_here(const Sealing& sealing) {
  if (sealing.error) return fail(*sealing.error);
  return head_.node.leads() ? life_.begin() : Status{};
}

// Everything that makes a snapshot safe at L1 on this node, before the others are asked.
Status SealDesk::seal_here(Version version, Sealing& sealing) {
  const auto span = head_.node.trace.span("seal", version.value, sealing.bytes);
  if (sealing.error) return fail(*sealing.error);
  if (auto status = life_.begin(); !status) return status;
  check_space(sealing);
  Known known;
  known.manifest.identity = head_.identity(version);
  known.in_flight = true;
  known.manifest.safe_point = sealing.safe_point;
  known.manifest.notes = sealing.notes.notes();
  known.destinations = sealing.destinations;
  std::vector<ShardEntry> own;
  for (const Rank rank : head_.ranks) {
    auto entry = digest_own_shard(head_.node, known.manifest.identity, rank, {});
    if (!entry) return fail(entry.error());
    own.push_back(*entry);
  }
  known.manifest.holdings.push_back({head_.first_layout, head_.node.me, std::move(own), {}, {}});
  auto status = catalog_.write(known.manifest);
  catalog_.known[known.manifest.identity] = std::move(known);
  return status;
}

void SealDesk::conclude(Version version, const Sealing& sealing) {
  if (const auto objection = sealing.vote.objection()) return abandon(version, sealing, *objection);
  const Identity id = head_.identity(version);
  catalog_.retrieval.reset();  // what it knows is out of date
  catalog_.retire_orphans();
  Known& known = catalog_.known[id];
  if (sealing.pin) catalog_.chain.pins.insert(id);
  catalog_.state = id;
  catalog_.of_other_ranks.reset();
  catalog_.hold_slot(version);
  const LevelId own = head_.node.levels.of_own_shards();
  known.complete.add(own);
  known.sealed = seconds_of_today();
  owed_.add(sealing.levels);
  known.due = std::exchange(owed_, {}) & head_.usable;
  known.due.remove(own);
  known.asked = known.due;
  if (auto layout = LayoutChange::settle(sealing.vote, sealing.offered))
    promoter_.change_layout_from(version, std::move(*layout));
  promoter_.add(known);
  if (known.due.empty()) catalog_.retire_damaged(known);
  head_.tell_all(Reached{version, own});
  head_.log_storage_recovery(own, version);
  promoter_.retire_old();
}

// The number stays used; what was written of it is given back. The next version goes where this one was to go: else the
// job would be less safe until that level is due again.
void SealDesk::abandon(Version version, const Sealing& sealing, const Error& objection) {
  const Identity id = head_.identity(version);
  const Error cause = sealing.vote.left() ? objection : sealing.error.value_or(objection);
  const Error error = cause.in(fmt::format("version {} is abandoned", version.value));
  head_.log_storage_error(sealing.vote.failed_node() == head_.node.me, head_.node.levels.of_own_shards(), error);
  owed_.add(sealing.vote.levels());
  catalog_.known.erase(id);
  if (auto status = catalog_.retire(head_.node.dir(id)); !status) head_.node.log.warning("{}", status.error().text());
  if (const auto left = sealing.vote.left(); left && !head_.left) head_.heed(left_before(version, *left));
  head_.tell_all(Failed{version, head_.node.levels.all(), error});
  head_.tell_all(Retired{version});
  promoter_.free_slots();
}

// Logs at the first snapshot what a full set of kept snapshots will take.
void SealDesk::check_space(const Sealing& sealing) {
  if (space_checked_) return;
  space_checked_ = true;
  const KeepCounts& keep = head_.options.keep;
  const std::uint64_t own = sealing.bytes;
  const LevelSet here = head_.usable & head_.node.levels.in_node_stores();
  std::uint64_t needed = own * slots_needed(keep, here);
  for (const LevelId level : here) {
    needed += head_.node.levels.at(level).extra_bytes(own, head_.node.layout, head_.node.me) * (keep.of(level) + 1);
  }
  auto free = head_.node.local->free_bytes();
  if (!free) return;
  const std::uint64_t available = *free + own;
  if (head_.node.leads()) {
    head_.node.log.info(
        "a snapshot takes {:.1f} MiB on node 0; all snapshots to be kept will take about {:.1f} MiB of {} ({:.1f} MiB "
        "free)",
        static_cast<double>(own) / kMiB, static_cast<double>(needed) / kMiB, head_.node.local->where(),
        static_cast<double>(available) / kMiB);
  }
  if (needed <= available) return;
  // Only a warning, since no call has failed: a snapshot that really does not fit fails by itself.
  head_.node.log.warning(
      "node {}: {} has {:.1f} MiB free, but the snapshots to be kept will take about {:.1f} MiB. A snapshot that does "
      "not fit fails, and the job continues. Give it more room, put [storage] local elsewhere, or keep fewer snapshots "
      "([storage] keep_local, [partner] copies)",
      head_.node.me.value, head_.node.local->where(), static_cast<double>(available) / kMiB,
      static_cast<double>(needed) / kMiB);
}

}  // namespace cairn
