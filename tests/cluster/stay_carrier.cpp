#include "stay_carrier.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <cairn/error.hpp>

#include "codec/crc32c.hpp"
#include "session/exception.hpp"

namespace cairn::test {

namespace {

constexpr std::uint32_t kShortWords = 40;  // a shorter message is over with its call

}  // namespace

void StayCarrier::begin_send(const Operation& operation, Buffer payload) {
  setting_.begins("a send");
  const auto out = journal().sends({operation.peer, operation.tag}, payload);
  if (!out) rolls_back(out.error());
  if (!out->must_send) return;
  if (!out->is_logged) {
    journal().cut_what_is_void();
    setting_.session.obstruct("has a full log", replay::Journal::Until::next_snapshot);
  }
  Pending sent;
  sent.sends = true;
  sent.number = out->number;
  const replay::Stream to = replay::stream_of(out->number.lane);
  if (traffic() != nullptr) {
    traffic()->sent(to);
    sent.need = traffic()->receiver(to);
  }
  sent.arrival = setting_.network.send(me(), out->number, std::move(payload));
  sent.is_complete = operation.words < kShortWords;
  pending_.push_back(std::move(sent));
}

void StayCarrier::begin_receive(const Operation& operation) {
  setting_.begins("a receive");
  pending_.emplace_back();
  receive_from(operation.peer, operation.tag, pending_.back());
}

void StayCarrier::receive_from(std::uint32_t peer, std::int32_t tag, Pending& pending) {
  pending.any.reset();
  pending.number = journal().awaits({peer, tag});
  auto payload = journal().shipped(pending.number);
  if (!payload) rolls_back(payload.error());
  if (*payload)
    complete(pending, std::move(**payload));
  else
    posted(pending);
}

void StayCarrier::posted(const Pending& pending) {
  if (traffic() != nullptr) traffic()->posted(replay::stream_of(pending.number.lane));
}

void StayCarrier::begin_receive_any(const Operation& operation) {
  setting_.begins("a receive from any rank");
  const replay::Pattern pattern{.peer = {}, .tag = operation.tag};
  pending_.emplace_back();
  Pending& pending = pending_.back();
  if (!journal().is_started()) {
    if (!journal().is_replacement()) {
      pending.early = journal().prologue().chooses();
    } else {
      const auto known = journal().prologue().next_choice(pattern, false);
      if (!known) rolls_back(known.error());
      return receive_from((*known)->peer, (*known)->tag, pending);
    }
  } else {
    const auto next = journal().choices().receives(journal().epoch(), pattern, journal().catches_up());
    if (!next) rolls_back(next.error());
    if (next->got) return receive_from(next->got->peer, next->got->tag, pending);
    if (!next->place) setting_.session.obstruct("receives too much", replay::Journal::Until::next_snapshot);
    pending.place = next->place;
  }
  pending.any = operation.tag;
}

void StayCarrier::wait_all(const Received& received) {
  std::optional<replay::LongWait> long_wait;
  while (true) {
    const std::uint64_t seen = setting_.network.news();
    if (setting_.is_troubled()) {
      setting_.begins("a wait that fails");
      long_wait.reset();
      after_failure();
      continue;
    }
    while (advance()) {
    }
    if (std::ranges::all_of(pending_, &Pending::is_complete)) break;
    wait(seen, long_wait);
  }
  for (const Pending& pending : std::exchange(pending_, {}))
    if (!pending.sends) received(pending.number.lane.peer, pending.payload);
}

void StayCarrier::wait(std::uint64_t seen, std::optional<replay::LongWait>& long_wait) {
  if (!logged().is_unchecked()) return setting_.network.wait_for_news(seen);
  if (!long_wait) long_wait.emplace(journal(), logged().deadlocks(), setting_.limit);
  const auto verdict = long_wait->look([this] { return needs(); });
  if (verdict == replay::LongWait::Verdict::goes_on) return setting_.network.wait_a_little(seen);
  journal().obstructs(long_wait->text(verdict, "a call"), replay::Journal::Until::next_snapshot);
  setting_.cut();
}

std::optional<replay::DeadlockCheck::Needs> StayCarrier::needs() {
  while (advance()) {
  }
  replay::DeadlockCheck::Needs needs;
  for (const Pending& pending : pending_) {
    if (pending.is_complete) continue;
    if (pending.sends && !pending.need) return {};
    const replay::Lane& lane = pending.number.lane;
    const replay::Pattern pattern = pending.any ? replay::Pattern{.peer = {}, .tag = pending.any}
                                                : replay::Pattern{.peer = lane.peer, .tag = lane.tag};
    needs.push_back(pending.sends ? *pending.need : logged().deadlocks().traffic().message(pattern));
  }
  if (needs.empty()) return {};
  return needs;
}

// One of the messages that have come.
bool StayCarrier::advance() {
  std::vector<std::size_t> order(pending_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::shuffle(order, random_);
  return std::ranges::any_of(order, [&](std::size_t i) {
    Pending& pending = pending_[i];
    if (pending.is_complete) return false;
    if (pending.sends) return pending.is_complete = setting_.network.has_arrived(pending.arrival);
    return pending.any ? advance_any(pending) : take_message(pending);
  });
}

// Of each sender and tag the oldest receive has the oldest message, but a later one may be complete before it.
bool StayCarrier::take_message(Pending& pending) {
  const replay::Lane& lane = pending.number.lane;
  std::size_t place = 0;
  for (const Pending& earlier : pending_) {
    if (&earlier == &pending) break;
    const replay::Lane& its = earlier.number.lane;
    if (!earlier.sends && !earlier.any && !earlier.is_complete && its.peer == lane.peer && its.tag == lane.tag) ++place;
  }
  auto message = setting_.network.take(me(), replay::stream_of(lane), place);
  if (!message) return false;
  if (!(message->number == pending.number)) throw std::logic_error("a receive gets the message of another one");
  if (traffic() != nullptr) traffic()->received(replay::stream_of(lane));
  complete(pending, std::move(message->payload));
  return true;
}

bool StayCarrier::advance_any(Pending& pending) {
  if (const auto shipped = journal().any_shipped({.peer = {}, .tag = *pending.any})) {
    choose(pending, shipped->lane.peer);
    return true;
  }
  const auto senders = setting_.network.senders(me(), *pending.any);
  if (senders.empty()) return false;
  choose(pending, senders[random_() % senders.size()]);
  return true;
}

void StayCarrier::choose(Pending& pending, std::uint32_t peer) {
  const std::int32_t tag = *pending.any;
  const replay::Choice choice{peer, tag, false, {.peer = {}, .tag = tag}};
  if (pending.early) journal().prologue().chose(*pending.early, choice);
  if (pending.place) journal().choices().chose(*pending.place, choice);
  receive_from(peer, tag, pending);
}

void StayCarrier::complete(Pending& pending, Buffer payload) {
  journal().received(pending.number, {payload.size(), crc32c(payload)});
  pending.payload = std::move(payload);
  pending.is_complete = true;
}

void StayCarrier::after_failure() {
  if (!setting_.stays()) throw Exception(ErrorKind::rollback, "a process has died");
}

void StayCarrier::rolls_back(const Error& why) {
  journal().obstructs(why.message, replay::Journal::Until::next_snapshot);
  (void)setting_.stays();
  throw Exception(ErrorKind::rollback, why.message);
}

void StayCarrier::harvest() {
  for (auto some = random_() % 4; some > 0; --some) (void)advance();
}

// What is sent is in the log, and so among that which is sent again, or its receiver has it.
void StayCarrier::goes_on() {
  for (Pending& pending : pending_)
    if (pending.sends) pending.is_complete = true;
  for (replay::Repeated& message : logged().take_repeated())
    (void)setting_.network.send(me(), message.number, std::move(message.payload));
}

}  // namespace cairn::test
