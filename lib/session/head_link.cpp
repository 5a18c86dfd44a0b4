#include "session/head_link.hpp"

#include <algorithm>
#include <utility>

namespace cairn {
namespace {

constexpr std::chrono::microseconds kNap{500};
constexpr std::size_t kFailuresKept = 64;
constexpr std::size_t kPromotionsKept = 64;

}  // namespace

HeadLink::HeadLink(Comm& control, Peer head, Drive drive, Clock clock)
    : control_(control), head_(head), drive_(std::move(drive)), clock_(std::move(clock)) {}

Status HeadLink::send(const ToHead& message) {
  if (const auto* seal = std::get_if<Seal>(&message)) {
    sealed_.insert(seal->version);
    if (seal->error) failed_here_.insert(seal->version);
  }
  if (auto status = control_.send(head_, kToHead, encode(message)); !status) return status;
  wake_head();
  return {};
}

void HeadLink::wake_head() {
  if (bell_) bell_->ring(Bell::Who::head);
}

Status HeadLink::poll() {
  while (true) {
    auto envelope = control_.probe(kToRank);
    if (!envelope) return fail(envelope.error());
    if (!*envelope) return lost_ ? fail(*lost_) : Status{};
    auto bytes = control_.recv_probed(**envelope);
    if (!bytes) return fail(bytes.error());
    auto message = decode_to_rank(*bytes);
    if (!message) return fail(message.error());
    take(std::move(*message));
  }
}

Status HeadLink::poll_if_rung() {
  if (!bell_) return poll();
  const std::uint32_t rings = bell_->rings(Bell::Who::ranks);
  if (rings != std::exchange(rings_, rings)) looks_ = kLooksPerRing;
  if (looks_ == 0) return lost_ ? fail(*lost_) : Status{};
  --looks_;
  return poll();
}

Result<bool> HeadLink::wait_until(const std::function<bool()>& done, const Wait& wait) {
  const auto begun = clock_();
  missing.reset();
  told_ = Told::nobody;
  head_answered_ = false;
  while (true) {
    const std::uint32_t rings = bell_ ? bell_->rings(Bell::Who::ranks) : 0;
    if (auto status = poll(); !status) return fail(status.error());
    if (done()) return true;
    const auto waited = clock_() - begun;
    if (wait.limit && waited > *wait.limit) return false;
    if (auto status = report_wait(wait, waited); !status) return fail(status.error());
    if (auto status = rest(wait, rings); !status) return fail(status.error());
  }
}

bool HeadLink::work() {
  if (!poll()) return false;
  if (!drive_) return false;
  const auto worked = drive_();
  return worked && *worked;
}

// If the engine runs in this thread, waiting does the head's work.
Status HeadLink::rest(const Wait& wait, std::uint32_t rings) {
  const bool moved = wait.moved && wait.moved();
  if (drive_) {
    auto worked = drive_();
    if (!worked) return fail(worked.error());
    if (!*worked) control_.idle(moved);
  } else if (bell_ && wait.woken_by == WokenBy::head) {
    bell_->wait(Bell::Who::ranks, rings, kNap);
  } else {
    control_.idle(moved);
  }
  return {};
}

// Reports to the head that this rank waits: once when the wait has become long, and whenever the head asks.
Status HeadLink::report_wait(const Wait& wait, std::chrono::microseconds waited) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited);
  // A wait with a short limit reports earlier, so that its error can name the missing ranks.
  const std::chrono::microseconds patience =
      wait.limit ? std::min<std::chrono::microseconds>(kPatience, *wait.limit / 2) : kPatience;
  const bool long_now = told_ == Told::nobody && waited >= patience;
  if (long_now || asked_) {
    const Waits waits{wait.call, static_cast<std::uint32_t>(seconds.count()), !long_now};
    asked_ = false;
    if (long_now) told_ = Told::head;
    return send(waits);
  }
  if (told_ == Told::head && !head_answered_ && waited >= 2 * patience) {
    told_ = Told::person;
    if (head_is_silent_) head_is_silent_(wait.call, seconds);
  }
  return {};
}

const std::optional<Error>& HeadLink::failure(Version version, LevelId level) const {
  static const std::optional<Error> none;
  const auto it = failures_.find({version, level});
  return it == failures_.end() ? none : it->second;
}

void HeadLink::take(ToRank message) {
  if (auto* m = std::get_if<Opened>(&message)) opened = std::move(*m);
  if (auto* m = std::get_if<Offer>(&message)) offer = std::move(*m);
  if (auto* m = std::get_if<RestoreDone>(&message)) restore_done = std::move(*m);
  if (auto* m = std::get_if<Finalized>(&message)) finalized = std::move(*m);
  if (auto* m = std::get_if<SnapshotNow>(&message)) snapshot_now_ = m->level;
  if (std::holds_alternative<Acknowledged>(message)) head_answered_ = true;
  if (std::holds_alternative<Ask>(message)) asked_ = true;
  if (auto* m = std::get_if<RankLeft>(&message); m && (!left || m->calls < left->calls)) left = *m;
  if (auto* m = std::get_if<Missing>(&message)) missing = std::move(m->text);
  if (auto* m = std::get_if<Trouble>(&message)) {
    // The loss of a peer ends an engine, so no answer will come.
    if (m->error.code == Code::communication) lost_ = m->error;
    errors.push_back({std::move(m->error), {}, {}});
  }
  if (auto* m = std::get_if<Retired>(&message)) sealed_.erase(m->version);
  if (auto* m = std::get_if<Reached>(&message)) {
    auto& reached = reached_[static_cast<std::size_t>(m->level)];
    reached = std::max(reached, m->version);
    if (m->took.count() > 0) promotions.push_back(*m);
    if (promotions.size() > kPromotionsKept) promotions.pop_front();
  }
  if (auto* m = std::get_if<Failed>(&message)) {
    for (const LevelId level : m->levels) failures_[{m->version, level}] = m->error;
    while (failures_.size() > kFailuresKept) failures_.erase(failures_.begin());
    // If this rank could not write its part, snapshot() has already reported that.
    if (failed_here_.erase(m->version) == 0) errors.push_back({std::move(m->error), m->version, m->levels});
  }
}

}  // namespace cairn
