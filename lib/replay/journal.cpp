#include "replay/journal.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "codec/crc32c.hpp"

namespace cairn::replay {

Status Journal::start(std::uint64_t epoch) {
  Status ended = prologue_.ends();
  Journal fresh(me_, memory_, origin_);
  fresh.prologue_ = std::move(prologue_);
  fresh.log_ = SendLog(memory_ - std::min(fresh.prologue_.bytes(), memory_));
  fresh.sends_.enter(epoch);
  fresh.receives_.enter(epoch);
  fresh.log_.cut(epoch);
  fresh.cut_ = epoch;
  fresh.began_ = epoch;
  fresh.restored_ = epoch;
  fresh.channels_ = std::move(channels_);
  fresh.channels_.begins(epoch);
  fresh.started_ = true;
  fresh.told_ = std::move(told_);
  // What holds for good was done before.
  if (obstacle_ && obstacle_->from == UINT64_MAX) fresh.obstacle_ = std::move(obstacle_);
  *this = std::move(fresh);
  return ended;
}

Status Journal::check_size(const std::map<std::uint32_t, Buffer>& shipped) const {
  std::uint64_t size = 0;
  for (const auto& [from, bytes] : shipped) size += bytes.size();
  if (size <= room()) return {};
  return fail(Code::unrecoverable,
              fmt::format("rank {} gets {} MiB of logged messages, more than {}", me_, size / kMiB, size_of_room()));
}

std::string Journal::size_of_room() const {
  const std::string memory = fmt::format("[replay] memory = {} MiB", memory_ / kMiB);
  return log_.spill_bytes() == 0 ? memory : fmt::format("{}, spill = {} MiB", memory, log_.spill_bytes() / kMiB);
}

Status Journal::replays_prologue(const std::map<std::uint32_t, Buffer>& shipped, std::uint32_t ranks) {
  if (auto fits = check_size(shipped); !fits) return fits;
  return prologue_.replays(shipped, ranks);
}

Result<Outgoing> Journal::sends(const Stream& to, Bytes payload) {
  if (!started_) return prologue_.sends(to, payload);
  is_at_restore_ = false;
  const Number number = sends_.next(to);
  const auto crc = log_.keep(number, payload, receipts_.bytes());
  const Content content{payload.size(), crc ? *crc : crc32c(payload)};
  Outgoing out{.number = number, .must_send = true, .is_logged = crc.has_value()};
  balance_.sent(me_, number, content);
  logged_ += SendLog::bytes_of(number, payload.size());
  if (!catch_up_) return out;
  const auto must_send = catch_up_->must_send(number, content);
  if (!must_send) return fail(must_send.error());
  out.must_send = *must_send;
  look_whether_caught_up();
  return out;
}

Result<std::optional<Buffer>> Journal::shipped(const Number& number) {
  if (!started_) return prologue_.shipped(number);
  if (!catch_up_) return std::nullopt;
  auto payload = catch_up_->receive(number);
  look_whether_caught_up();
  return payload;
}

Result<std::optional<std::uint64_t>> Journal::next_shipped(const Stream& from) const {
  if (!started_) return prologue_.next_shipped(from);
  return catch_up_ ? catch_up_->length_of(receives_.coming(from)) : std::nullopt;
}

std::optional<Number> Journal::any_shipped(const Pattern& pattern) const {
  if (!catch_up_) return {};
  return catch_up_->any_for(pattern, epoch(), [&](const Stream& from) { return receives_.coming(from); });
}

void Journal::received(const Number& number, const Content& content) {
  if (!started_) return prologue_.received(number, content);
  balance_.received(me_, number, content);
  if (!log_.reaches(number.lane.epoch)) return;  // all ranks roll back after a failure
  const std::uint64_t before = receipts_.bytes();
  receipts_.add(number, content);
  logged_ += receipts_.bytes() - before;
  if (log_.has_room_for(receipts_.bytes())) return;
  log_.gives_up(number.lane.epoch);
  cut_what_is_void();
}

void Journal::cut_what_is_void() {
  log_.cut_what_is_void();
  receipts_.cut(log_.reaches_back_to());
}

void Journal::enters(std::uint64_t call) {
  is_at_restore_ = false;
  sends_.enter(call);
  receives_.enter(call);
  look_whether_caught_up();
}

bool Journal::note_growth() {
  const std::uint64_t growth = logged_ - std::exchange(logged_when_asked_, logged_);
  if (!started_ || growth == 0 || logged_ - logged_when_taken_ < 2 * growth) return false;
  return prologue_.bytes() + log_.bytes() + receipts_.bytes() + std::max(3 * growth, room() / 4) > room();
}

std::uint64_t Journal::logged_millionths() const {
  constexpr std::uint64_t kWhole = 1'000'000;
  const std::uint64_t most = std::max(room() - std::min(prologue_.bytes(), room()), kWhole);
  return logged_ / most * kWhole + logged_ % most * kWhole / most;
}

void Journal::look_whether_caught_up() {
  if (catch_up_ && catch_up_->is_over(epoch())) catch_up_.reset();
}

void Journal::is_safe(std::uint32_t version) {
  const auto safe = std::ranges::find(taken_, version, &Taken::version);
  if (safe == taken_.end() || safe->call <= cut_) return;
  cut_ = safe->call;
  log_.cut(cut_);
  receipts_.cut(cut_);
  channels_.cut(cut_);
  choices_.cut(cut_);
  // The next check needs it.
  if (!unchecked_since_) balance_.cut(cut_);
  taken_.erase(taken_.begin(), safe);
  if (obstacle_ && obstacle_->from < cut_) obstacle_.reset();
}

bool Journal::obstructs(const std::string& what, Until until) {
  const std::uint64_t from = until == Until::end ? UINT64_MAX : epoch();
  if (!obstacle_ || obstacle_->from < from) obstacle_ = {obstacle_ ? obstacle_->what : what, from};
  return told_.insert(what).second;
}

std::optional<std::string> Journal::obstacle() const {
  if (obstacle_) return obstacle_->what;
  if (prologue_.is_whole() && log_.reaches(cut_)) return {};
  const std::string full = fmt::format("rank {}: the message log is full ({})", me_, size_of_room());
  if (log_.spill_bytes() == 0 || !log_.spill_error()) return full;
  return fmt::format("{}: {}", full, log_.spill_error()->message);
}

void Journal::check_invariants() const {
  check(!catch_up_ || agreement_);         // only who has rolled back alone catches up,
  check(!agreement_ || unchecked_since_);  // and its messages have not been compared since
  check(!is_replacement() || !catch_up_);
  check(!is_at_restore_ || started_);
  if (!started_) return;
  check(cut_ <= epoch() && (!unchecked_since_ || *unchecked_since_ <= epoch()));
  check(logged_when_asked_ <= logged_ && logged_when_taken_ <= logged_);
  check(std::ranges::adjacent_find(taken_, std::ranges::greater_equal(), &Taken::call) == taken_.end());
}

Standing Journal::standing(std::uint64_t calls, std::uint32_t version) const {
  return {.replaced = is_replacement(),
          .calls = calls,
          .past = past_,
          .version = version,
          .began = began_,
          .stamp = stamp_,
          .reaches = cut_,
          .taken = taken_};
}

std::map<Lane, Received> Journal::has_from(std::uint32_t peer, std::uint64_t epoch) const {
  auto has = receipts_.from(peer, epoch);
  if (catch_up_)
    for (const auto& [lane, waiting] : catch_up_->waiting_from(peer)) {
      Received& all = has[lane];
      waiting.for_each([&](std::uint64_t place, const Content& content) { all.add(place, content); });
    }
  return has;
}

Result<std::map<std::uint32_t, Buffer>> Journal::shipments(const Agreement& agreement, std::uint64_t epoch) const {
  std::map<std::uint32_t, Buffer> out;
  if (std::ranges::binary_search(agreement.replaced, me_)) return out;
  for (const std::uint32_t peer : agreement.replaced) {
    const auto shipment = ship(me_, peer, epoch, log_, has_from(peer, epoch));
    if (!shipment) return fail(shipment.error().in(fmt::format("rank {}", me_)));
    out[peer] = encode(*shipment);
  }
  std::set<std::uint32_t> peers = receipts_.peers(epoch);
  if (catch_up_) peers.merge(catch_up_->peers());
  for (const std::uint32_t peer : peers) {
    if (out.contains(peer)) continue;
    Shipment shipment;
    shipment.from = me_;
    for (auto& [lane, received] : has_from(peer, epoch))
      shipment.received[Lane{lane.epoch, me_, lane.tag, lane.channel}] = std::move(received);
    out[peer] = encode(shipment);
  }
  return out;
}

Result<std::vector<Repeated>> Journal::goes_on(const Agreement& agreement, std::uint64_t epoch,
                                               const std::map<std::uint32_t, Buffer>& shipped) {
  past_ = std::max(past_, agreement.newest);
  unchecked_since_ = epoch;
  if (auto fits = check_size(shipped); !fits) return fail(fits.error());
  auto shipments = decode_shipments(shipped);
  if (!shipments) return fail(shipments.error());
  taken_ = agreement.taken;
  std::erase_if(taken_, [&](const Taken& taken) { return taken.call < epoch; });
  if (std::ranges::binary_search(agreement.replaced, me_)) {
    origin_ = Origin::first;
    began_ = agreement.began;
    stamp_ = agreement.stamp;
    channels_.begins(began_);
    is_at_restore_ = true;
    catch_up_.emplace(std::move(*shipments), agreement.newest);
    agreement_ = agreement;
    look_whether_caught_up();
    return std::vector<Repeated>{};
  }
  if (catch_up_)
    for (const std::uint32_t peer : agreement.replaced) catch_up_->forget_receipts_of(peer);
  std::vector<Number> again;
  for (const std::uint32_t peer : log_.peers(epoch)) {
    if (std::ranges::binary_search(agreement.replaced, peer)) continue;
    const auto theirs = std::ranges::find(*shipments, peer, &Shipment::from);
    const auto lost =
        lost_messages(peer, epoch, log_, theirs == shipments->end() ? std::map<Lane, Received>{} : theirs->received);
    again.insert(again.end(), lost.begin(), lost.end());
  }
  // MPI keeps the messages of one sender in order, also those with different tags.
  std::ranges::sort(again, {}, [&](const Number& number) { return log_.find(number)->order; });
  look_whether_caught_up();
  return with_payloads(std::move(again));
}

Result<std::vector<Repeated>> Journal::with_payloads(std::vector<Number> numbers) const {
  std::vector<Repeated> messages;
  for (const Number& number : numbers) {
    auto payload = log_.payload(number);
    if (!payload) return fail(payload.error().in(fmt::format("rank {}", me_)));
    messages.push_back({number, std::move(*payload)});
  }
  return messages;
}

Result<LostSteps> Journal::steps_to_recompute() const {
  if (!catch_up_ || agreement_->oldest <= epoch())
    return fail(Code::unrecoverable, "not all survivors have completed a step");
  if (agreement_->replaced.size() != 1) return fail(Code::unrecoverable, "other ranks are lost, too");
  auto messages = catch_up_->messages_until(agreement_->oldest);
  if (!messages) return fail(messages.error());
  return LostSteps{me_, agreement_->ranks, epoch(), agreement_->oldest, std::move(*messages)};
}

Status Journal::recomputed(std::uint64_t call, std::vector<PartResult> parts) {
  auto exchanged = catch_up_->recomputed(call, std::move(parts));
  if (!exchanged) return fail(exchanged.error());
  for (const auto& [number, payload] : exchanged->sent) {
    log_.keep(number, payload, receipts_.bytes());
    balance_.sent(me_, number, {payload.size(), crc32c(payload)});
    logged_ += SendLog::bytes_of(number, payload.size());
  }
  for (const auto& [number, content] : exchanged->received) received(number, content);
  choices_.skips_to(call);
  restored_ = call;
  enters(call);
  is_at_restore_ = true;
  return {};
}

std::optional<std::uint32_t> Journal::taken_at(std::uint64_t call) const {
  const auto at = std::ranges::find(taken_, call, &Taken::call);
  if (at == taken_.end()) return {};
  return at->version;
}

}  // namespace cairn::replay
