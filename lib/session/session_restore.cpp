#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "format/shard.hpp"
#include "session/offered_shards.hpp"
#include "session/restore_exchange.hpp"
#include "session/session_errors.hpp"
#include "session/session_impl.hpp"
#include "session/settling.hpp"
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
  if (auto status = state_.usable_now("restore"); !status) return fail(status.error());
  const WatchedCall watched(state_.watcher, CairnCall::restore);
  Application& app = state_.application;
  if (state_.logged && state_.logged->catches_up()) {
    // The others do not take part in another restore.
    return fail(state_.logged->rolls_back("calls restore() again while it catches up").error());
  }
  auto span = state_.connection->trace.span("restore");
  const auto start = state_.setting.clock();
  const auto sizes = app.regions.container_sizes();
  app.calls = app.whole_calls();
  app.decided.reset();
  Taken taken{.calls = app.calls};  // by the restore, if it goes well on all ranks
  const auto accepted = settle_offer(
      state_, [&](const Offer& offer) { return answer_to(offer, only, sizes, taken); }, request_for(state_, chosen),
      Restores::all);
  if (!accepted) {
    app.regions.release();
    return fail(accepted.error());
  }
  const Status completed = complete(only, !accepted->fresh);
  if (!completed && !state_.is_replacement()) return fail(completed.error());
  // The application has corrected what an earlier try reported.
  if (app.undefined) leave_mark(state_, CompletionMark::Kind::opened);
  app.undefined.reset();
  app.restored = true;
  app.calls = taken.calls;
  accept(*accepted);
  if (state_.logged) {
    if (!only.empty()) obstruct(fmt::format("restores region {} alone", only), rollback::Until::end);
    if (auto status = begin_log(completed); !status) return fail(status.error());
    // A replacement would need the others to restore its regions.
    if (taken.exchanged) obstruct("has exchanged regions in restore()", rollback::Until::next_snapshot);
  }
  if (app.report.restored) app.notes.continue_from(state_.link().restore_done->notes);
  app.report.label = state_.link().restore_done->notes.label;
  app.report.attributes = state_.link().restore_done->notes.attributes;
  app.report.resized = app.regions.resized_since(sizes);
  app.report.resized_ranks = state_.link().restore_done->resized_ranks;
  if (app.auto_levels && accepted->old_ranks != size() && !accepted->fresh)
    app.auto_levels =
        AutoLevels::make(state_.setting.config, state_.connection->life.usable, state_.connection->life.incarnation,
                         state_.connection->membership->topology.node_count(), {});
  if (app.auto_levels) app.auto_levels->restored(highest_needed(*accepted), state_.setting.clock() - start);
  warm_up_slots();
  span.set_version(Version{app.report.version});
  return app.report;
}

Result<std::optional<std::uint64_t>> SessionImpl::stored(const std::string& name) {
  Application& app = state_.application;
  if (auto status = look_at_stored("stored"); !status) return fail(status.error());
  if (app.stored->of_other_ranks) {
    if (std::holds_alternative<OfRank>(app.regions.kind_of(name)))
      return fail(Code::invalid_argument, fmt::format("stored: \"{}\" is what one old rank had", name),
                  "protect a container, which restore() resizes");
    return app.regions.exchange().share_of(name, app.stored->all, rank(), size());
  }
  const auto region = app.stored->mine.find(name);
  if (region == app.stored->mine.end()) return std::nullopt;
  return region->second.elements;
}

Result<std::optional<std::uint64_t>> SessionImpl::stored_total(const std::string& name) {
  if (auto status = look_at_stored("stored_total"); !status) return fail(status.error());
  const auto region = state_.application.stored->all.find(name);
  if (region == state_.application.stored->all.end()) return std::nullopt;
  return region->second.elements;
}

// The first time: what the snapshot has that restore() will restore.
Status SessionImpl::look_at_stored(const char* call) {
  Application& app = state_.application;
  if (auto status = state_.usable_now(call); !status) return status;
  if (app.stored) return {};
  const WatchedCall watched(state_.watcher, CairnCall::restore);
  if (is_under_way())
    return fail(Code::invalid_argument, fmt::format("{}: called after restore() or snapshot()", call),
                "call it before the first of them");
  obstruct("calls stored()", rollback::Until::end);
  auto span = state_.connection->trace.span("look");
  Application::Stored found;
  const auto look = [&](const Offer& offer) {
    found = {};
    found.of_other_ranks = !offer.fresh && offer.old_ranks != size();
    if (may_exchange(state_, offer)) {
      if (auto again = look_for_exchange(state_, offer, found.mine)) return *std::move(again);
    }
    if (found.of_other_ranks) return RestoreResult{};
    auto seen = look_at(offer);
    if (!seen) return refused(state_, seen.error());
    found.mine = *std::move(seen);
    return RestoreResult{};
  };
  if (const auto accepted = settle_offer(state_, look, request_for(state_, {}), Restores::all); !accepted)
    return fail(accepted.error());
  auto all = add_up(ranks(), found.mine);
  if (!all) return fail(all.error());
  found.all = *std::move(all);
  app.stored = std::move(found);
  return {};
}

// All ranks have read the same snapshot. A replacement tells the others later whether it has its objects and files.
Status SessionImpl::complete(const std::string& only, bool restored) {
  const Status mine = restored ? state_.application.regions.complete(only) : Status{};
  state_.application.regions.release();
  if (state_.is_replacement() || !state_.link().restore_done->completes) return mine;
  auto all = agree(ranks(), mine, "rank");
  if (all || all.error().code == Code::communication) return all;
  return undefined_after(state_, mine ? all.error() : mine.error().in(fmt::format("rank {}", rank().value)), true);
}

// As soon as regions are known, so that the first snapshots find their slots ready. All ranks have read what they
// restore.
void SessionImpl::warm_up_slots() {
  const auto bytes = state_.application.regions.shard_bytes();
  if (!bytes) return;  // snapshot() says why
  state_.connection->warmer.want(*bytes);
  state_.connection->warmer.run(state_.connection->free_slots());
}

// `sizes`: of the containers before the restore. `taken` stays as it is if that fails.
RestoreResult SessionImpl::answer_to(const Offer& offer, const std::string& only,
                                     const std::vector<std::uint64_t>& sizes, Taken& taken) {
  auto exchanged = may_exchange(state_, offer) ? exchange_offered(state_, offer, only, taken.calls) : std::nullopt;
  taken.exchanged = exchanged.has_value();
  RestoreResult result = std::move(exchanged).value_or(RestoreResult{});
  if (result.error) return result;
  if (!taken.exchanged) {
    const auto calls = take_offer(offer, only);
    if (!calls) return refused(state_, calls.error());
    taken.calls = *calls;
  }
  result.completes = !offer.fresh && state_.application.regions.have_to_complete(only);
  if (!offer.fresh) result.destinations = state_.application.regions.destinations(offer.snapshot.version);
  const auto resized = state_.application.regions.resized_since(sizes);
  if (resized.empty()) return result;
  const ResizedRegion& first = resized.front();
  const auto more = static_cast<std::uint32_t>(resized.size() - 1);
  result.resized = Resized{first.name, first.elements_before, first.elements_now, more};
  return result;
}

// What this rank's shard has. The shard is checked as a whole, as restore() would.
Result<StoredRegions> SessionImpl::look_at(const Offer& offer) {
  StoredRegions regions;
  if (offer.fresh) return regions;
  auto span = state_.connection->trace.span("read", offer.snapshot.version.value);
  auto file = open_own(*state_.connection->local, offer, state_.connection->rank());
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
  if (offer.fresh) return state_.application.calls;
  auto span = state_.connection->trace.span("read", offer.snapshot.version.value);
  auto shard = open_own(*state_.connection->local, offer, state_.connection->rank());
  if (!shard) return fail(shard.error());
  const ShardHeader& header = shard->header();
  span.set_bytes(header.data_bytes);
  const Status read = state_.application.regions.restore(*shard, only);
  if (!read && read.error().code != Code::mismatch) return fail(read.error());
  // The job continues from the whole snapshot, even if only a part is read here. So check all of it. If it is damaged,
  // the mismatch does not matter: another snapshot may match.
  if (!read || !only.empty()) {
    if (auto whole = check_blocks(*shard); !whole) return fail(whole.error().in_file(shard->name()));
  }
  if (!read) return fail(read.error());
  return only.empty() ? header.safe_point : state_.application.calls;
}

void SessionImpl::accept(const Offer& offer) {
  const std::uint64_t moved_bytes = state_.link().restore_done->moved_bytes;
  state_.application.report = report_of(offer, moved_bytes);
  if (offer.fresh) return;
  state_.application.schedule =
      Schedule(state_.setting.config.levels, state_.connection->life.usable, state_.application.calls);
  state_.application.schedule.require_next(state_.link().restore_done->next);
  if (state_.connection->pulse) state_.connection->pulse.emplace(ranks(), state_.setting.clock);
  if (state_.connection->rank().value == 0) state_.setting.log.info("{}", text_of(offer, moved_bytes, size()));
}

}  // namespace cairn
