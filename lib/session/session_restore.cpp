#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "format/shard.hpp"
#include "session/offered_shards.hpp"
#include "session/session_impl.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

RestoreReport report_of(const Offer& offer, std::uint64_t moved_bytes) {
  RestoreReport report;
  report.restored = !offer.fresh;
  report.seconds = offer.seconds;
  if (offer.fresh) return report;
  report.incarnation = offer.snapshot.incarnation.value;
  report.version = offer.snapshot.version.value;
  report.old_ranks = offer.old_ranks;
  report.bytes_moved = moved_bytes;
  std::copy_n(offer.ranks_from.begin(), std::min(offer.ranks_from.size(), report.ranks_from.size()),
              report.ranks_from.begin());
  report.my_level = offer.level;
  report.my_source = offer.source;
  report.lost_nodes = offer.lost_nodes;
  return report;
}

// For a person, of the whole job of so many ranks.
std::string text_of(const Offer& offer, std::uint64_t moved_bytes, std::uint32_t size) {
  const bool of_other_ranks = offer.old_ranks != size;
  std::string lost = fmt::format("{}", fmt::join(offer.lost_nodes, ", "));
  // A job with fewer nodes does not know whether the others still have their stores.
  const char* const how = of_other_ranks ? "not there" : "lost";
  if (!lost.empty()) lost += fmt::format(" {} {}; ", offer.lost_nodes.size() == 1 ? "is" : "are", how);
  std::string from;
  for (std::size_t i = 0; i < offer.ranks_from.size(); ++i) {
    const std::uint32_t ranks = offer.ranks_from[i];
    if (ranks > 0)
      from += fmt::format("{}{} {} from L{}", from.empty() ? "" : ", ", ranks, ranks == 1 ? "rank" : "ranks", i + 1);
  }
  const std::string number = of_other_ranks ? fmt::format(" of {} ranks", offer.old_ranks) : "";
  const std::string on = of_other_ranks ? fmt::format(" on {}", size) : "";
  constexpr double kTold = 0.1;
  const double mib = static_cast<double>(moved_bytes) / kMiB;
  std::string moved;
  if (mib >= kTold) moved = fmt::format(", {:.1f} MiB moved between nodes", mib);
  return fmt::format("{}version {}{} restored{}: {}{}, {:.2f} s", lost, offer.snapshot.version.value, number, on, from,
                     moved, offer.seconds);
}

}  // namespace

Result<RestoreReport> SessionImpl::restore(const std::string& only, const RestoreRequest& chosen) {
  if (auto status = usable_now("restore"); !status) return fail(status.error());
  const WatchedCall watched(watcher_, CairnCall::restore);
  Application& app = application_;
  if (logged_ && logged_->catches_up()) {
    // The others do not take part in another restore.
    return fail(logged_->rolls_back("calls restore() again while it catches up").error());
  }
  auto span = connection_->trace.span("restore");
  const auto start = setting_.clock();
  const auto sizes = app.regions.container_sizes();
  app.calls = app.whole_calls();
  app.decided.reset();
  Taken taken{.calls = app.calls};  // by the restore, if it goes well on all ranks
  const auto accepted = settle_offer([&](const Offer& offer) { return answer_to(offer, only, sizes, taken); },
                                     request_for(chosen), Restores::all);
  if (!accepted) {
    app.regions.release();
    return fail(accepted.error());
  }
  const Status completed = complete(only, !accepted->fresh);
  if (!completed && !is_replacement()) return fail(completed.error());
  // The application has corrected what an earlier try reported.
  if (app.undefined) leave_mark(CompletionMark::Kind::opened);
  app.undefined.reset();
  app.restored = true;
  app.calls = taken.calls;
  accept(*accepted);
  if (logged_) {
    if (!only.empty()) obstruct(fmt::format("restores region {} alone", only), rollback::Until::end);
    if (auto status = begin_log(completed); !status) return fail(status.error());
    // A replacement would need the others to restore its regions.
    if (taken.exchanged) obstruct("has exchanged regions in restore()", rollback::Until::next_snapshot);
  }
  if (app.report.restored) app.notes.continue_from(link().restore_done->notes);
  app.report.label = link().restore_done->notes.label;
  app.report.attributes = link().restore_done->notes.attributes;
  app.report.resized = app.regions.resized_since(sizes);
  app.report.resized_ranks = link().restore_done->resized_ranks;
  if (app.auto_levels && accepted->old_ranks != size() && !accepted->fresh)
    app.auto_levels = AutoLevels::make(setting_.config, connection_->life.usable, connection_->life.incarnation,
                                       connection_->membership->topology.node_count(), {});
  if (app.auto_levels) app.auto_levels->restored(highest_needed(*accepted), setting_.clock() - start);
  warm_up_slots();
  span.set_version(Version{app.report.version});
  return app.report;
}

Result<std::optional<std::uint64_t>> SessionImpl::stored(const std::string& name) {
  Application& app = application_;
  if (auto status = look_at_stored("stored"); !status) return fail(status.error());
  if (app.stored->of_other_ranks) {
    if (app.regions.is_of_one_old_rank(name))
      return fail(Code::invalid_argument, fmt::format("stored: \"{}\" is what one old rank had", name),
                  "protect a container, which restore() resizes");
    return app.regions.share_of(name, app.stored->all, rank(), size());
  }
  const auto region = app.stored->mine.find(name);
  if (region == app.stored->mine.end()) return std::nullopt;
  return region->second.elements;
}

Result<std::optional<std::uint64_t>> SessionImpl::stored_total(const std::string& name) {
  if (auto status = look_at_stored("stored_total"); !status) return fail(status.error());
  const auto region = application_.stored->all.find(name);
  if (region == application_.stored->all.end()) return std::nullopt;
  return region->second.elements;
}

// The first time: what the snapshot has that restore() will restore.
Status SessionImpl::look_at_stored(const char* call) {
  Application& app = application_;
  if (auto status = usable_now(call); !status) return status;
  if (app.stored) return {};
  const WatchedCall watched(watcher_, CairnCall::restore);
  if (is_under_way())
    return fail(Code::invalid_argument, fmt::format("{}: called after restore() or snapshot()", call),
                "call it before the first of them");
  obstruct("calls stored()", rollback::Until::end);
  auto span = connection_->trace.span("look");
  Application::Stored found;
  const auto look = [&](const Offer& offer) {
    found = {};
    found.of_other_ranks = !offer.fresh && offer.old_ranks != size();
    if (may_exchange(offer)) {
      if (auto again = look_for_exchange(offer, found.mine)) return *std::move(again);
    }
    if (found.of_other_ranks) return RestoreResult{};
    auto seen = look_at(offer);
    if (!seen) return refused(seen.error());
    found.mine = *std::move(seen);
    return RestoreResult{};
  };
  if (const auto accepted = settle_offer(look, request_for({}), Restores::all); !accepted)
    return fail(accepted.error());
  auto all = add_up(ranks(), found.mine);
  if (!all) return fail(all.error());
  found.all = *std::move(all);
  app.stored = std::move(found);
  return {};
}

// A replacement gets what the survivors continue from. The first restore of a process is the same call in each life of
// the job, so it chooses once. A later one is meant.
RestoreRequest SessionImpl::request_for(const RestoreRequest& chosen) const {
  const Application& app = application_;
  if (is_replacement()) return {};
  if (app.is_under_way()) return {chosen.version, chosen.label, false, false};
  const Config::Restart& restart = setting_.config.restart;
  if (restart.version != 0 || !restart.label.empty())
    return {Version{restart.version}, restart.label, true, restart.version_again};
  return {chosen.version, chosen.label, true, false};
}

// The heads offer a snapshot as often as a rank's `answer` is that its shard cannot be read. Returns the one that all
// have read. A close() is answered without an offer. Collective among the ranks.
Result<Offer> SessionImpl::settle_offer(const std::function<RestoreResult(const Offer&)>& answer,
                                        const RestoreRequest& request, Restores who) {
  Application& app = application_;
  HeadLink& head = link();
  head.offer.reset();
  head.restore_done.reset();
  if (auto status = head.send(request); !status) return fail(status.error());
  PulseClosing closing(pulse(), Pulse::At::restore);
  const auto answered = [&] {
    closing.go_on();
    return head.offer || head.restore_done;
  };
  std::optional<Offer> accepted;
  const auto closed = [&] { return closing.go_on(); };
  while (true) {
    auto waiting = connection_->trace.span("wait for head");
    auto heard = head.wait_until(answered, {text_of(request.call)});
    waiting.end();
    if (!heard) return fail(heard.error());
    if (!head.offer) break;
    accepted = std::move(*head.offer);
    head.offer.reset();
    if (who == Restores::all && request.call == SettledCall::restore && may_exchange(*accepted)) {
      // Two collectives of the ranks must not be under way at once.
      auto done = head.wait_until(closed, {.call = "restore()", .woken_by = HeadLink::WokenBy::nobody});
      if (!done) return fail(done.error());
    }
    if (auto status = head.send(answer(*accepted)); !status) return fail(status.error());
  }
  // Ranks may have used different numbers, if one of them left out a snapshot.
  app.last_version = std::max(app.last_version, head.restore_done->last_version);
  const std::optional<Error>& error = head.restore_done->error;
  // Otherwise some are in finalize, or have left.
  const bool all_are_here = !error || (error->code != Code::invalid_argument && !head.left);
  if (all_are_here) {
    auto done = head.wait_until(closed, {.call = text_of(request.call), .woken_by = HeadLink::WokenBy::nobody});
    if (!done) return fail(done.error());
  }
  if (!error) return std::move(accepted).value_or(Offer{});
  if (request.call != SettledCall::restore) return fail(*error);
  return fail(undefined_after(*error, all_are_here).error());
}

// The restore has failed on all ranks. None of those that are here may end the job for it before the mark is written.
Status SessionImpl::undefined_after(Error error, bool all_are_here) {
  application_.undefined = std::move(error);
  leave_mark_of(*application_.undefined);
  if (all_are_here && restart_would_fail(application_.undefined->code)) (void)ranks().barrier();
  return fail(*application_.undefined);
}

// All ranks have read the same snapshot. A replacement tells the others later whether it has its objects and files.
Status SessionImpl::complete(const std::string& only, bool restored) {
  const Status mine = restored ? application_.regions.complete(only) : Status{};
  application_.regions.release();
  if (is_replacement() || !link().restore_done->completes) return mine;
  auto all = agree(ranks(), mine, "rank");
  if (all || all.error().code == Code::communication) return all;
  return undefined_after(mine ? all.error() : mine.error().in(fmt::format("rank {}", rank().value)), true);
}

// As soon as regions are known, so that the first snapshots find their slots ready; but not while other ranks of the
// node may still be reading what they restore.
void SessionImpl::warm_up_slots() {
  constexpr std::chrono::milliseconds kDelay{500};
  const auto plan = application_.regions.plan();
  if (!plan) return;  // snapshot() says why
  connection_->warmer.want((*plan)->header().file_bytes());
  connection_->warmer.run(connection_->free_slots(), kDelay);
}

// A replacement restores alone.
bool SessionImpl::may_exchange(const Offer& offer) const {
  return !offer.fresh && setting_.config.restart.elastic && !is_replacement();
}

// `sizes`: of the containers before the restore. `taken` stays as it is if that fails.
RestoreResult SessionImpl::answer_to(const Offer& offer, const std::string& only,
                                     const std::vector<std::uint64_t>& sizes, Taken& taken) {
  auto exchanged = may_exchange(offer) ? exchange_offered(offer, only, taken.calls) : std::nullopt;
  taken.exchanged = exchanged.has_value();
  RestoreResult result = std::move(exchanged).value_or(RestoreResult{});
  if (result.error) return result;
  if (!taken.exchanged) {
    const auto calls = take_offer(offer, only);
    if (!calls) return refused(calls.error());
    taken.calls = *calls;
  }
  result.completes = !offer.fresh && application_.regions.have_to_complete(only);
  if (!offer.fresh) result.destinations = application_.regions.destinations(offer.snapshot.version);
  const auto resized = application_.regions.resized_since(sizes);
  if (resized.empty()) return result;
  const ResizedRegion& first = resized.front();
  const auto more = static_cast<std::uint32_t>(resized.size() - 1);
  result.resized = Resized{first.name, first.elements_before, first.elements_now, more};
  return result;
}

// If it was this rank's shard that could not be read, the heads find another source of it.
RestoreResult SessionImpl::refused(const Error& error) const {
  RestoreResult result{error, {}, {}};
  if (is_of_source(error.code)) result.damaged.push_back(connection_->rank());
  return result;
}

// What this rank's shard has. The shard is checked as a whole, as restore() would.
Result<StoredRegions> SessionImpl::look_at(const Offer& offer) {
  StoredRegions regions;
  if (offer.fresh) return regions;
  auto span = connection_->trace.span("read", offer.snapshot.version.value);
  auto file = open_own(*connection_->local, offer, connection_->rank());
  if (!file) return fail(file.error());
  auto shard = Shard::of(std::move(*file));
  if (!shard) return fail(shard.error());
  span.set_bytes(shard->header().data_bytes);
  if (auto whole = check_blocks(*shard); !whole) return fail(whole.error().in_file(shard->name()));
  add(*shard, regions);
  return regions;
}

// Returns how many snapshot() calls the job has made at the safe point that this takes it to.
Result<std::uint64_t> SessionImpl::take_offer(const Offer& offer, const std::string& only) {
  if (offer.fresh) return application_.calls;
  auto span = connection_->trace.span("read", offer.snapshot.version.value);
  auto shard = open_own(*connection_->local, offer, connection_->rank());
  if (!shard) return fail(shard.error());
  const ShardHeader& header = shard->header();
  span.set_bytes(header.data_bytes);
  const Status read = application_.regions.restore(*shard, only);
  if (!read && read.error().code != Code::mismatch) return fail(read.error());
  // The job continues from the whole snapshot, even if only a part is read here. So check all of it. If it is damaged,
  // the mismatch does not matter: another snapshot may match.
  if (!read || !only.empty()) {
    if (auto whole = check_blocks(*shard); !whole) return fail(whole.error().in_file(shard->name()));
  }
  if (!read) return fail(read.error());
  return only.empty() ? header.safe_point : application_.calls;
}

void SessionImpl::accept(const Offer& offer) {
  const std::uint64_t moved_bytes = link().restore_done->moved_bytes;
  application_.report = report_of(offer, moved_bytes);
  if (offer.fresh) return;
  application_.schedule = Schedule(setting_.config.levels, connection_->life.usable, application_.calls);
  application_.schedule.require_next(link().restore_done->next);
  if (connection_->pulse) connection_->pulse.emplace(ranks(), setting_.clock);
  if (connection_->rank().value == 0) setting_.log.info("{}", text_of(offer, moved_bytes, size()));
}

}  // namespace cairn
