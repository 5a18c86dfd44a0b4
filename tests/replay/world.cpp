#include "world.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "codec/crc32c.hpp"

namespace cairn::test {
namespace {

using replay::Content;
using replay::Journal;
using replay::Lane;
using replay::Standing;
using Kind = Operation::Kind;

std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 33U;
  value *= 0xff51afd7ed558ccdU;
  value ^= value >> 33U;
  value *= 0xc4ceb9fe1a85ec53U;
  return value ^ (value >> 33U);
}

Buffer payload_of(std::uint64_t state, std::uint32_t words) {
  Buffer payload;
  for (std::uint32_t i = 0; i < words; ++i) {
    state = mix(state + i + 1);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&state);
    payload.insert(payload.end(), bytes, bytes + sizeof(state));
  }
  return payload;
}

constexpr std::uint64_t kMostStepsToRestore = 100'000;
constexpr std::uint64_t kStamp = 7;
constexpr std::size_t kRecord = 10'000;

Content content_of(Bytes payload) { return {payload.size(), crc32c(payload)}; }

class MemoryWriter final : public Writer {
 public:
  explicit MemoryWriter(bool damages) : damages_(damages) {}
  MutableBytes mapping() override { return {}; }
  Status write(std::uint64_t offset, Bytes bytes) override {
    content_.resize(std::max<std::size_t>(content_.size(), offset + bytes.size()));
    copy_bytes(bytes, MutableBytes(content_).subspan(offset));
    return {};
  }
  Status read(std::uint64_t offset, MutableBytes into) override {
    copy_bytes(Bytes(content_).subspan(offset, into.size()), into);
    if (damages_) into.front() ^= std::byte{1};
    return {};
  }
  Status commit(std::uint64_t /*size_bytes*/, bool /*sync*/) override { return {}; }

 private:
  bool damages_;
  Buffer content_;
};

// Of the processes that a job starts with: what they exchange before restore(), and little more. The rest spills.
std::uint64_t memory_for(const std::vector<Operation>& operations) {
  constexpr std::uint64_t kMore = 700;
  replay::Prologue prologue(0, kMiB);
  for (const Operation& one : operations) {
    if (one.kind == Kind::restore) break;
    const replay::Stream stream{one.peer, one.tag};
    if (one.kind == Kind::send || one.kind == Kind::isend) (void)prologue.sends(stream, payload_of(0, one.words));
    if (one.kind == Kind::receive || one.kind == Kind::ireceive) prologue.received(prologue.awaits(stream), {});
  }
  return prologue.bytes() + kMore;
}

}  // namespace

World::World(const Program& program, std::uint64_t seed, Mutant mutant)
    : program_(program), random_(seed), mutant_(mutant), processes_(program.size()) {
  for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
    processes_[rank].state = mix(rank + 1);
    processes_[rank].journal.emplace(static_cast<std::uint32_t>(rank), memory_for(program[rank]));
  }
}

void World::wrong(std::string what) {
  if (fault_.empty()) fault_ = std::move(what);
}

bool World::is_finished() const {
  for (std::size_t rank = 0; rank < processes_.size(); ++rank)
    if (processes_[rank].at < program_[rank].size()) return false;
  return true;
}

std::vector<std::uint64_t> World::results() const {
  std::vector<std::uint64_t> states;
  for (const Process& process : processes_) states.push_back(process.state);
  return states;
}

std::uint64_t World::balance() const {
  std::uint64_t sum = 0;
  for (const Process& process : processes_) sum += process.journal->balance(cut_);
  return sum;
}

bool World::is_at_restore(std::uint32_t rank) const {
  const Process& process = processes_[rank];
  return process.at < program_[rank].size() && program_[rank][process.at].kind == Kind::restore;
}

bool World::can_step(std::uint32_t rank) const {
  const Process& process = processes_[rank];
  if (process.at >= program_[rank].size()) return false;
  if (is_at_restore(rank)) {
    for (std::uint32_t other = 0; other < processes_.size(); ++other)
      if (!is_at_restore(other) && !processes_[other].journal->is_started()) return false;
    return true;
  }
  const Kind kind = program_[rank][process.at].kind;
  if (process.pending.empty()) return true;
  // A call that waits has left its message behind, and is over when that is complete.
  if (kind == Kind::isend || kind == Kind::ireceive) return true;
  return std::ranges::all_of(process.pending, &Pending::complete);
}

bool World::step() {
  ++steps_;
  std::set<std::uint32_t> all;
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) all.insert(rank);
  return step_of(all);
}

bool World::step_of(const std::set<std::uint32_t>& ranks) {
  std::vector<std::uint32_t> able;
  for (const std::uint32_t rank : ranks)
    if (can_step(rank)) able.push_back(rank);
  if (able.empty() || random_() % 3 == 0) return deliver_one() || !able.empty();
  make(able[random_() % able.size()]);
  return true;
}

void World::make(std::uint32_t rank) {
  Process& process = processes_[rank];
  if (mutant_ == Mutant::none) process.journal->check_invariants();
  const Operation& operation = program_[rank][process.at];
  const bool blocks =
      operation.kind == Kind::send || operation.kind == Kind::receive || operation.kind == Kind::receive_any;
  if (blocks && process.pending.empty()) {
    if (operation.kind == Kind::send) begin_send(rank, operation);
    if (operation.kind == Kind::receive) begin_receive(rank, operation);
    if (operation.kind == Kind::receive_any) begin_receive_any(rank, operation);
    return;  // this operation goes on until its message is complete
  }
  switch (operation.kind) {
    case Kind::isend: begin_send(rank, operation); break;
    case Kind::ireceive: begin_receive(rank, operation); break;
    case Kind::send:
    case Kind::receive:
    case Kind::receive_any:
    case Kind::wait_all:
      for (const Pending& pending : process.pending) finish(process, pending);
      process.pending.clear();
      break;
    case Kind::restore: return restore(rank, 0);
    case Kind::snapshot: snapshot(rank); break;
  }
  ++process.at;
  note_state(rank);
}

// A process that computes again what others may have seen must come to the same.
void World::note_state(std::uint32_t rank) {
  const Process& process = processes_[rank];
  if (!process.journal->is_started()) return;
  if (states_.try_emplace({rank, process.at}, process.state).first->second != process.state)
    wrong(fmt::format("rank {} computes something else again", rank));
}

void World::finish(Process& process, const Pending& pending) {
  if (pending.sends || !pending.payload) return;
  process.state = mix(process.state ^ crc32c(*pending.payload) ^ (std::uint64_t{pending.number.lane.peer} << 40U));
}

void World::begin_send(std::uint32_t rank, const Operation& operation) {
  Process& process = processes_[rank];
  Buffer payload = payload_of(process.state ^ process.at * 77, operation.words);
  const auto out = process.journal->sends({operation.peer, operation.tag}, payload);
  if (!out) return wrong(out.error().message);
  if (!out->is_logged) wrong("the log was full");
  const bool must = out->must_send || mutant_ == Mutant::no_receipts;
  // The log has a copy, so the buffer is free, and a short message is over with its call.
  process.pending.push_back(
      {.sends = true, .number = out->number, .payload = {}, .complete = !must || operation.words < 40});
  if (must) transmit(rank, out->number, std::move(payload));
}

void World::transmit(std::uint32_t from, const Number& number, Buffer payload) {
  const Lane there{number.lane.epoch, from, number.lane.tag};
  network_[{number.lane.peer, Lane{0, from, number.lane.tag}}].push_back(
      {.number = Number{there, number.place}, .stamp = number.place, .payload = std::move(payload)});
}

void World::begin_receive(std::uint32_t rank, const Operation& operation) {
  Process& process = processes_[rank];
  const Number number = process.journal->awaits({operation.peer, operation.tag});
  process.pending.push_back({.sends = false, .number = number, .payload = {}, .complete = false});
  auto payload = process.journal->shipped(number);
  if (!payload) return wrong(payload.error().message);
  if (!*payload) return;
  ++replayed_;
  complete_receive(rank, process.pending.back(), std::move(**payload));
}

void World::begin_receive_any(std::uint32_t rank, const Operation& operation) {
  Process& process = processes_[rank];
  const auto next = process.journal->choices().receives(process.calls, {.peer = {}, .tag = operation.tag},
                                                        process.journal->catches_up());
  if (!next) return wrong(next.error().message);
  if (next->got) return begin_receive(rank, {Kind::receive, next->got->peer, next->got->tag, 0});
  const Number any{Lane{process.calls, 0, operation.tag}, 0};
  process.pending.push_back({.sends = false, .number = any, .payload = {}, .complete = false});
  process.pending.back().place = next->place;
  (void)deliver_any(rank);
}

// To a receive from any rank: of what was shipped to a replacement, or of what has come.
bool World::deliver_any(std::uint32_t rank) {
  Process& process = processes_[rank];
  if (process.pending.empty() || !process.pending.front().place || process.pending.front().complete) return false;
  Pending& pending = process.pending.front();
  const std::int32_t tag = pending.number.lane.tag;
  const auto take = [&](std::uint32_t peer) {
    process.journal->choices().chose(*pending.place, {peer, tag, false, {.peer = {}, .tag = tag}});
    pending.number = process.journal->awaits({peer, tag});
    pending.place.reset();
  };
  if (const auto shipped = process.journal->any_shipped({.peer = {}, .tag = tag})) {
    take(shipped->lane.peer);
    complete_receive(rank, pending, std::move(*process.journal->shipped(pending.number).value()));
    return true;
  }
  std::vector<std::uint32_t> senders;
  for (const auto& [where, messages] : network_)
    if (where.first == rank && where.second.tag == tag && !messages.empty()) senders.push_back(where.second.peer);
  if (senders.empty()) return false;
  take(senders[random_() % senders.size()]);
  return true;
}

void World::record_choices(std::uint32_t rank, const std::vector<replay::Choices::Entry>& known) {
  Process& process = processes_[rank];
  process.choices = std::make_shared<Buffer>(kRecord);
  process.journal->choices().records_in(*process.choices, kStamp, known);
}

void World::complete_receive(std::uint32_t rank, Pending& pending, Buffer payload) {
  Process& process = processes_[rank];
  const Content content = content_of(payload);
  process.journal->received(pending.number, content);
  pending.payload = std::move(payload);
  pending.complete = true;
}

// A message that has a receive, which gets it: of each lane the oldest receive has the oldest message, but a later one
// may be complete before an earlier one.
bool World::deliver_one() {
  struct Match {
    std::uint32_t rank;
    std::size_t pending;
    std::deque<Message>* lane;
    std::size_t message;
  };
  std::vector<Match> matches;
  bool any = false;
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) any = deliver_any(rank) || any;
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {
    std::map<Lane, std::size_t> seen;
    auto& pending = processes_[rank].pending;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      if (pending[i].sends || pending[i].complete || pending[i].place) continue;
      const Lane lane{0, pending[i].number.lane.peer, pending[i].number.lane.tag};
      const auto there = network_.find({rank, lane});
      const std::size_t place = seen[lane]++;
      if (there != network_.end() && place < there->second.size()) matches.push_back({rank, i, &there->second, place});
    }
  }
  if (matches.empty()) return any;
  const Match match = matches[random_() % matches.size()];
  Message message = std::move((*match.lane)[match.message]);
  match.lane->erase(match.lane->begin() + static_cast<std::ptrdiff_t>(match.message));
  Pending& pending = processes_[match.rank].pending[match.pending];
  if (!(message.number == pending.number))
    wrong(fmt::format("rank {} takes message {} of call {} from rank {} for message {} of call {}", match.rank,
                      message.number.place, message.number.lane.epoch, message.number.lane.peer, pending.number.place,
                      pending.number.lane.epoch));
  for (Pending& sent : processes_[message.number.lane.peer].pending)
    if (sent.sends && sent.number.lane.peer == match.rank && sent.number.lane.tag == message.number.lane.tag &&
        sent.number.lane.epoch == message.number.lane.epoch && sent.number.place == message.stamp)
      sent.complete = true;
  complete_receive(match.rank, pending, std::move(message.payload));
  return true;
}

void World::snapshot(std::uint32_t rank) {
  Process& process = processes_[rank];
  const std::uint64_t call = ++process.calls;
  if (mutant_ != Mutant::numbers_go_on) process.journal->enters(call);
  if (call > process.journal->past() || mutant_ == Mutant::keeps_void_snapshots) {
    process.saved[call] = {process.at + 1, process.state};
    process.journal->takes(call, static_cast<std::uint32_t>(call));
  }
  // What all have is not given up before a newer one is whole.
  const std::uint64_t whole = newest_whole();
  if (whole <= cut_) return;
  cut_ = whole;
  for (Process& one : processes_) {
    one.journal->is_safe(static_cast<std::uint32_t>(whole));
    one.saved.erase(one.saved.begin(), one.saved.lower_bound(whole));
  }
}

std::uint64_t World::newest_whole() const {
  for (auto mine = processes_.front().saved.rbegin(); mine != processes_.front().saved.rend(); ++mine) {
    const std::uint64_t epoch = mine->first;
    if (std::ranges::all_of(processes_, [=](const Process& one) { return one.saved.contains(epoch); })) return epoch;
  }
  return 0;
}

// Of what is under way between survivors, some comes to its end yet. All else is lost.
void World::harvest(const std::set<std::uint32_t>& dead) {
  for (int i = static_cast<int>(random_() % 4); i > 0; --i) (void)deliver_one();
  for (auto& [receiver, lane] : network_) lane.clear();
  for (const std::uint32_t rank : dead) processes_[rank].pending.clear();
}

void World::restore(std::uint32_t rank, std::uint64_t epoch) {
  Process& process = processes_[rank];
  ++process.at;
  if (epoch != 0) {
    process.at = process.saved.at(epoch).at;
    process.state = process.saved.at(epoch).state;
  }
  process.calls = epoch;
  if (const auto started = process.journal->start(epoch); !started) wrong(started.error().message);
  const bool damages = mutant_ == Mutant::damages_files;
  process.journal->spills_to(64 * kKiB, [damages] { return std::make_unique<MemoryWriter>(damages); });
  std::vector<replay::Choices::Entry> known;
  if (process.choices && mutant_ != Mutant::forgets_choices) {
    const auto found = replay::read_choices(*process.choices, kStamp, epoch);
    if (found) known = *replay::decode_choices(encode(*found));
    if (!found) wrong("the record of choices is lost");
  }
  record_choices(rank, known);
}

// New processes begin anew, while the survivors wait for them to restore.
void World::replace(const std::set<std::uint32_t>& dead) {
  for (const std::uint32_t rank : dead) {
    std::map<std::uint32_t, Buffer> shipped;
    for (std::uint32_t from = 0; from < processes_.size(); ++from)
      if (!dead.contains(from) && mutant_ != Mutant::ships_no_prologue)
        shipped[from] = processes_[from].journal->prologue_for(rank);
    Process fresh;
    fresh.saved = std::move(processes_[rank].saved);
    fresh.choices = std::move(processes_[rank].choices);
    fresh.state = mix(rank + 1);
    fresh.journal.emplace(rank, 1U << 30U, replay::Origin::replacement);
    if (const auto replays = fresh.journal->replays_prologue(shipped, static_cast<std::uint32_t>(processes_.size()));
        !replays)
      wrong(replays.error().message);
    processes_[rank] = std::move(fresh);
  }
  const auto all_are_there = [&] { return std::ranges::all_of(dead, [&](auto rank) { return is_at_restore(rank); }); };
  for (std::uint64_t steps = 0; !all_are_there(); ++steps) {
    std::set<std::uint32_t> busy;
    for (const std::uint32_t rank : dead)
      if (!is_at_restore(rank)) busy.insert(rank);
    if (!step_of(busy) || steps > kMostStepsToRestore) return wrong("a replacement does not come to restore()");
  }
}

// What the ranks do after a repair, each with its own journal.
void World::go_on(std::uint64_t epoch) {
  std::vector<Standing> standings;
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {
    const Process& process = processes_[rank];
    const auto told = encode(process.journal->standing(process.calls, 0));
    standings.push_back(replay::decode_standing(told).value());
  }
  const auto agreement = replay::agree_on(standings, epoch);
  if (!agreement) return wrong(agreement.error().message);
  std::map<std::uint32_t, std::map<std::uint32_t, Buffer>> shipped;  // by receiver and sender
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {
    auto mine = processes_[rank].journal->shipments(*agreement, epoch);
    if (!mine) return wrong(mine.error().message);
    for (auto& [to, bytes] : *mine) shipped[to][rank] = std::move(bytes);
  }
  for (std::uint32_t rank = 0; rank < processes_.size(); ++rank) {
    Process& process = processes_[rank];
    auto again = process.journal->goes_on(*agreement, epoch, shipped[rank]);
    if (!again) return wrong(again.error().message);
    if (mutant_ == Mutant::none) process.journal->check_invariants();
    for (Pending& pending : process.pending)
      if (pending.sends) pending.complete = true;  // the log has it
    if (mutant_ == Mutant::no_resend) continue;
    for (replay::Repeated& message : *again) transmit(rank, message.number, std::move(message.payload));
  }
}

void World::kill(const std::set<std::uint32_t>& dead) {
  if (!std::ranges::all_of(processes_, [](const Process& one) { return one.journal->is_started(); })) return;
  harvest(dead);
  const std::uint64_t epoch = newest_whole();
  const bool own = mutant_ == Mutant::restores_own_newest;
  for (Process& process : processes_)
    std::erase_if(process.saved, [&](const auto& saved) {
      return saved.first > epoch && !own && mutant_ != Mutant::keeps_void_snapshots;
    });
  replace(dead);
  if (!fault_.empty()) return;
  for (const std::uint32_t rank : dead) {
    const auto& saved = processes_[rank].saved;
    restore(rank, own && !saved.empty() ? saved.rbegin()->first : epoch);
  }
  go_on(epoch);
}

}  // namespace cairn::test
