#include "session/session_impl.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "format/shard.hpp"
#include "session/stop_signal.hpp"
#include "store/names.hpp"

namespace cairn {

SessionImpl::~SessionImpl() {
  if (link_ && !finalized_ && !engine_) (void)link_->send(FinalizeRequest{last_version_, calls_, true, true, false});
  if (engine_ && !finalized_) engine_->leave();
  // After a failure nobody hears that; the head sees for itself why.
  if (link_ && recoverable_) link_->wake_head();
  if (engine_thread_.joinable()) engine_thread_.join();
}

Status SessionImpl::usable_now(const char* call) const {
  if (!finalized_) return {};
  return fail(Code::invalid_argument, fmt::format("{} was called after finalize", call));
}

Result<std::optional<Version>> SessionImpl::snapshot(std::optional<LevelId> forced) {
  if (auto status = usable_now("snapshot"); !status) return fail(status.error());
  if (undefined_) return fail(undefined_->in("snapshot refused, since a restore failed"));
  if (!is_under_way()) link_->wake_head();  // which may otherwise hear nothing until a snapshot is due
  if (auto status = link_->poll_if_rung(); !status) return fail(status.error());
  auto span = trace_.span("snapshot");
  auto due = levels_due(forced);
  if (!due) return fail(due.error());
  std::optional<Version> taken;
  if (due->empty()) {
    span.drop();
  } else {
    const auto start = clock_();
    taken = Version{++last_version_.value};
    span.set_version(*taken);
    auto written = write(*taken, *due);
    if (!written && !goes_on_after(written.error())) return fail(written.error());
    if (auto_ && written) {
      const auto promoting = hear_promotions();
      auto_->meter().snapshot_took(clock_() - start, engine_ ? promoting : std::chrono::microseconds{0});
    }
  }
  if (auto status = report_errors(); !status) return fail(status.error());
  return taken;
}

// The same on every rank: from the call's number, and from what all agreed on.
Result<LevelSet> SessionImpl::levels_due(std::optional<LevelId> forced) {
  if (forced && !usable_.has(*forced)) {
    return fail(Code::invalid_argument, fmt::format("L{} is off in this job", static_cast<int>(*forced)),
                fmt::format("set [levels] l{} and give it enough nodes", static_cast<int>(*forced)));
  }
  LevelSet due = schedule_->due(++calls_);
  if (forced) due.add(*forced);
  if (!pulse_) return due;
  auto span = trace_.span("agree on time");
  hear_promotions();
  Result<bool> ready = true;
  const auto is_ready = [&] { return !(ready = pulse_->ready()) || *ready; };
  if (auto heard = link_->wait_until(is_ready, {.call = "snapshot()", .woken_by = HeadLink::WokenBy::nobody}); !heard)
    return fail(heard.error());
  if (!ready) return fail(ready.error());
  auto beat = pulse_->call(StopSignal::seen(), auto_ ? auto_->meter().measures() : Measures{});
  if (!beat) return fail(beat.error());
  if (!*beat) {
    span.drop();
    return due;
  }
  span.end();
  due.add(schedule_->due_by_time((*beat)->elapsed));
  if (auto_) {
    due.add(auto_->due(**beat));
    if (auto status = tell_of_auto(); !status) return fail(status.error());
  }
  if ((*beat)->stop && !stop_) {
    stop_ = true;
    due.add(usable_.has(LevelId::global) ? LevelId::global : LevelId::local);
    if (rank_.value == 0) log_.info("a stop signal came: this snapshot goes to L4, should_stop() is true");
  }
  return due;
}

// Application rank 0 tells the log, and its head, who keeps it for the next life.
Status SessionImpl::tell_of_auto() {
  if (rank_.value != 0) return {};
  if (const auto news = auto_->take_news()) log_.info("{}", *news);
  const auto record = auto_->take_record();
  return record ? link_->send(*record) : Status{};
}

// What heads have raised to higher levels since the last time, in all. Measured by them: this rank may hear of it late.
std::chrono::microseconds SessionImpl::hear_promotions() {
  std::chrono::microseconds sum{0};
  for (const Reached& promotion : std::exchange(link_->promotions, {})) {
    sum += promotion.took;
    if (auto_) auto_->meter().promotion_took(promotion.level, promotion.took);
  }
  return sum;
}

// Back-pressure: a slot that is still needed is not overwritten. A rank that waits in vain has used up the version's
// number all the same, as the others have, which may have got their slots.
Status SessionImpl::wait_for_slot() {
  if (link_->outstanding() < slots_) return {};
  const auto span = trace_.span("wait for slot");
  const auto start = std::chrono::steady_clock::now();
  auto freed = link_->wait_until([&] { return link_->outstanding() < slots_; },
                                 {.call = "snapshot()", .limit = config_.head.wait_limit});
  waited_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!freed) return fail(freed.error());
  if (*freed) return {};
  return fail(
      Code::io,
      fmt::format("rank {} waited {:g} s for its head to be done with versions {} to {}{}", rank_.value,
                  std::chrono::duration<double>(config_.head.wait_limit).count(), link_->sealed().begin()->value,
                  link_->sealed().rbegin()->value, link_->missing ? "; " + *link_->missing : ""),
      "take snapshots less often, or raise [head] wait_limit");
}

Status SessionImpl::write(Version version, LevelSet levels) {
  const Identity identity{incarnation_, version, run_};
  Seal seal{version, calls_, levels, 0, {}};
  const auto write_regions = [&]() -> Status {
    auto span = trace_.span("write", version.value);
    auto regions = regions_.capture();
    if (!regions) return fail(regions.error());
    warmer_->pause();
    const ShardIdentity who{identity, calls_, rank_, topology_.rank_count()};
    auto bytes =
        write_shard(*local_, names::shard(names::snapshot(version, run_), rank_), who, regions->plan, regions->regions);
    if (!bytes) return fail(bytes.error());
    seal.bytes = *bytes;
    // Slots of another size are worth making when it has come twice.
    const std::uint64_t ready = warmer_->wanted_bytes();
    if (ready != *bytes && (ready == 0 || shard_bytes_ == *bytes)) warmer_->want(*bytes);
    shard_bytes_ = *bytes;
    span.set_bytes(*bytes);
    return {};
  };
  Status written = wait_for_slot();
  if (!written && written.error().code == Code::communication) return written;
  if (written) written = write_regions();
  if (!written) seal.error = written.error();
  for (const LevelId level : kAllLevels) {
    if (level == LevelId::local || levels.has(level)) meant_[static_cast<std::size_t>(level)] = version;
  }
  // The head hears of a failure too: the version is abandoned everywhere, and nobody waits for it.
  if (auto status = link_->send(seal); !status) return status;
  warmer_->run(free_slots());
  // The other heads wait for this one, whatever became of the shard.
  if (auto status = run_head(version); !status) return status;
  if (written) return {};
  return fail(written.error().in(fmt::format("version {} could not be written", version.value)));
}

// [head] mode = inline: this rank is its node's head, and does the head's work now, until the version is as safe as it
// is to be. Other ranks of the node may have sealed the next one already, which waits for this rank's part.
Status SessionImpl::run_head(Version version) {
  if (!engine_) return {};
  const auto span = trace_.span("run head", version.value);
  const auto over = [&] {
    const bool voted = link_->reached(LevelId::local) >= version || link_->failure(version, LevelId::local);
    return voted && !engine_->busy_with(version);
  };
  auto done = link_->wait_until(over, {"snapshot()"});
  return done ? Status{} : fail(done.error());
}

Status SessionImpl::wait(LevelId level) {
  if (auto status = usable_now("wait"); !status) return status;
  const Version target = meant_[static_cast<std::size_t>(level)];
  const auto span = trace_.span("wait", target.value);
  const auto over = [&] { return link_->reached(level) >= target || link_->failure(target, level); };
  auto done =
      link_->wait_until(over, {fmt::format("wait() for version {} at L{}", target.value, static_cast<int>(level))});
  if (!done) return fail(done.error());
  if (link_->reached(level) < target) {
    const Error error = *link_->failure(target, level);
    std::erase_if(link_->errors, [&](const Error& other) { return other.message == error.message; });
    if (fails_for_storage(error.code)) storage_error_ = error.text();
    return fail(error);
  }
  return report_errors();
}

Result<Version> SessionImpl::safe_version(LevelId level) {
  if (auto status = link_->poll(); !status) return fail(status.error());
  return link_->reached(level);
}

// Whether the job goes on without being told by an exception: the log has it, and wait() and finalize() know.
bool SessionImpl::goes_on_after(const Error& error) {
  if (!fails_for_storage(error.code)) return false;
  storage_error_ = error.text();
  return config_.job.on_storage_error == Config::Job::OnStorageError::continue_;
}

// Each background error is told once, by the call after it became known.
Status SessionImpl::report_errors() {
  std::optional<Error> told;
  for (Error& error : std::exchange(link_->errors, {})) {
    if (goes_on_after(error)) continue;
    if (told) {
      log_.error("{}", error.text());
    } else {
      told = std::move(error);
    }
  }
  if (!told) return {};
  leave_mark_of(*told);
  return fail(*told);
}

// As safe as was asked, or safer.
Status SessionImpl::newest_is_safe() const {
  const Version newest = meant_[static_cast<std::size_t>(LevelId::local)];
  for (const LevelId level : kAllLevels) {
    const auto& failure = link_->failure(newest, level);
    if (!failure || meant_.at(static_cast<std::size_t>(level)) != newest) continue;
    const bool safer = std::ranges::any_of(
        kAllLevels, [&](LevelId higher) { return higher > level && link_->reached(higher) >= newest; });
    if (!safer) return fail(*failure);
  }
  return {};
}

void SessionImpl::leave_mark_of(const Error& error) const {
  if (leave_mark_ && restart_cannot_mend(error.code)) leave_mark_({CompletionMark::Kind::error, error.text()});
}

Status SessionImpl::finalize() {
  if (auto status = usable_now("finalize"); !status) return status;
  auto span = trace_.span("finalize");
  if (auto_ && rank_.value == 0) {
    if (auto status = link_->send(auto_->record()); !status) return status;
  }
  // The end of the chain empties the node's store: nothing is to be made ready in it after that.
  warmer_->pause();
  if (auto status = link_->send(FinalizeRequest{last_version_, calls_, stop_, false, undefined_.has_value()}); !status)
    return status;
  PulseClosing closing(pulse_.get(), Pulse::Place::finalize);
  const auto over = [&] {
    // An error may be that a rank is gone, which closes nothing.
    return (closing.go_on() && link_->finalized) || (link_->finalized && link_->finalized->error);
  };
  auto heard = link_->wait_until(over, {"finalize()"});
  finalized_ = true;
  if (!heard) return fail(heard.error());
  if (engine_thread_.joinable()) engine_thread_.join();
  span.end();
  trace_.flush();  // an application may keep the session for long
  using Kind = CompletionMark::Kind;
  if (link_->finalized->error) {
    if (leave_mark_) leave_mark_({Kind::failed, link_->finalized->error->text()});
    const Error error = *link_->finalized->error;
    if (const auto others = report_errors(); !others) log_.error("{}", others.error().text());
    leave_mark_of(error);
    return fail(error);
  }
  if (undefined_) {
    if (rank_.value == 0) log_.warning("finalize leaves all snapshots as they are, since a restore failed");
    if (leave_mark_) leave_mark_({Kind::failed, undefined_->text()});
    return report_errors();
  }
  // What else went wrong on the way is told, and was mended: the chain has ended as it should.
  Status status = report_errors();
  if (status && config_.job.on_storage_error == Config::Job::OnStorageError::continue_) status = newest_is_safe();
  if (leave_mark_) leave_mark_({stop_ ? Kind::stopped : Kind::finished, {}});
  return status;
}

}  // namespace cairn
