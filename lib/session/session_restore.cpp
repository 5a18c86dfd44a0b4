#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "format/shard.hpp"
#include "session/session_impl.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// Nothing of a fresh start.
std::optional<LevelId> highest_needed(const RestoreReport& report) {
  std::optional<LevelId> highest;
  for (const LevelId level : kAllLevels) {
    if (report.ranks_from[static_cast<std::size_t>(level) - 1] > 0) highest = level;
  }
  return highest;
}

}  // namespace

Result<RestoreReport> SessionImpl::restore(const std::string& only) {
  if (auto status = usable_now("restore"); !status) return fail(status.error());
  auto span = trace_.span("restore");
  const auto start = clock_();
  link_->offer.reset();
  link_->restore_done.reset();
  if (auto status = link_->send(RestoreRequest{}); !status) return fail(status.error());
  PulseClosing closing(pulse_.get(), Pulse::Place::restore);
  const auto answered = [&] {
    closing.go_on();
    return link_->offer || link_->restore_done;
  };
  std::optional<Offer> accepted;
  std::uint64_t calls = calls_;  // after the restore, if it goes well on all ranks
  while (true) {
    auto waiting = trace_.span("wait for head");
    auto heard = link_->wait_until(answered, {"restore()"});
    waiting.end();
    if (!heard) return fail(heard.error());
    if (!link_->offer) break;
    accepted = std::move(*link_->offer);
    link_->offer.reset();
    RestoreResult result;
    auto taken = take_offer(*accepted, only);
    if (taken) {
      calls = *taken;
    } else {
      result.error = taken.error();
    }
    if (auto status = link_->send(result); !status) return fail(status.error());
  }
  // Ranks may have used different numbers, if one of them left out a snapshot.
  last_version_ = std::max(last_version_, link_->restore_done->last_version);
  const std::optional<Error>& error = link_->restore_done->error;
  const bool all_are_here = !error || error->code != Code::invalid_argument;  // else some are in finalize
  const auto closed = [&] { return closing.go_on(); };
  if (all_are_here) {
    auto done = link_->wait_until(closed, {.call = "restore()", .woken_by = HeadLink::WokenBy::nobody});
    if (!done) return fail(done.error());
  }
  if (error) {
    undefined_ = error;
    leave_mark_of(*undefined_);
    // All ranks have this error, and who ends the job for it must not do so before it is told.
    if (all_are_here && restart_cannot_mend(undefined_->code)) (void)ranks_->barrier();
    return fail(*undefined_);
  }
  // The application has mended what an earlier try complained of.
  if (undefined_ && leave_mark_) leave_mark_({CompletionMark::Kind::opened, {}});
  undefined_.reset();
  restored_ = true;
  calls_ = calls;
  accept(*accepted);
  if (auto_) auto_->restored(highest_needed(report_), clock_() - start);
  warm_up_slots();
  span.set_version(Version{report_.version});
  return report_;
}

// As soon as regions are known, so that the first snapshots find their slots ready.
void SessionImpl::warm_up_slots() {
  const auto regions = regions_.capture();
  if (!regions) return;  // snapshot() says why
  warmer_->want(regions->plan.header().file_bytes());
  warmer_->run(free_slots());
}

// Returns the number of snapshot() calls that the job has made at the safe point that it is at then.
Result<std::uint64_t> SessionImpl::take_offer(const Offer& offer, const std::string& only) {
  if (offer.fresh) return calls_;
  auto span = trace_.span("read", offer.snapshot.version.value);
  const FileName name = names::shard(names::snapshot(offer.snapshot.version, offer.snapshot.run), rank_);
  auto shard = Shard::open(*local_, name);
  if (!shard) return fail(shard.error());
  const ShardHeader& header = shard->header();
  span.set_bytes(header.data_bytes);
  if (header.identity != offer.snapshot || header.rank != rank_)
    return fail(Code::corrupt, name.path + " is of another snapshot or rank");
  const Status read = regions_.restore(*shard, only);
  if (!read && read.error().code != Code::mismatch) return fail(read.error());
  // The job goes on from all of the snapshot, whatever is read of it. One that is damaged cannot be had, and need not
  // match: another one may.
  if (!read || !only.empty()) {
    if (auto whole = check_blocks(*shard); !whole) return fail(whole.error().in_file(name.path));
  }
  if (!read) return fail(read.error());
  return only.empty() ? header.safe_point : calls_;
}

void SessionImpl::accept(const Offer& offer) {
  report_ = {};
  report_.restored = !offer.fresh;
  report_.seconds = offer.seconds;
  if (offer.fresh) return;
  report_.incarnation = offer.snapshot.incarnation.value;
  report_.version = offer.snapshot.version.value;
  std::ranges::copy(offer.ranks_from, report_.ranks_from);
  report_.my_level = offer.level;
  report_.my_source = offer.source;
  report_.lost_nodes = offer.lost_nodes;
  schedule_ = std::make_unique<Schedule>(config_.levels, usable_, calls_);
  if (pulse_) pulse_ = std::make_unique<Pulse>(*ranks_, clock_);
  if (rank_.value != 0) return;
  std::string lost;
  for (const std::string& node : report_.lost_nodes) lost += (lost.empty() ? "" : ", ") + node;
  if (!lost.empty()) lost += report_.lost_nodes.size() == 1 ? " is lost; " : " are lost; ";
  std::string from;
  for (std::size_t i = 0; i < kLevels; ++i) {
    const std::uint32_t ranks = report_.ranks_from[i];
    if (ranks > 0)
      from += fmt::format("{}{} {} from L{}", from.empty() ? "" : ", ", ranks, ranks == 1 ? "rank" : "ranks", i + 1);
  }
  log_.info("{}version {} restored: {}, {:.2f} s", lost, report_.version, from, report_.seconds);
}

}  // namespace cairn
