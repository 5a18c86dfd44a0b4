#include "support/sample_calls.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>

#include <gtest/gtest.h>

#include "store/names.hpp"

namespace cairn::test {
namespace {

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

Said message(const std::string& name, CallKind kind, std::int32_t peer, std::int32_t tag) {
  Said said{name, {}};
  said.record.kind = kind;
  said.record.comm = kWorld;
  said.record.peer = peer;
  said.record.tag = tag;
  said.record.bytes = 4096;
  return said;
}

}  // namespace

Said send(std::int32_t to, std::int32_t tag, const std::string& name) { return message(name, CallKind::send, to, tag); }
Said receive(std::int32_t from, std::int32_t tag, const std::string& name) {
  return message(name, CallKind::receive, from, tag);
}
Said probe(std::int32_t from, std::int32_t tag) { return message("MPI_Probe", CallKind::probe, from, tag); }

Said iprobe(std::int32_t from, std::int32_t tag, std::uint64_t times) {
  Said said = message("MPI_Iprobe", CallKind::test, from, tag);
  said.record.bytes = 0;
  said.record.number = times;
  return said;
}

Said collective(const std::string& name, std::int32_t root, std::uint64_t after) {
  Said said = message(name, CallKind::collective, root, kAnyTag);
  said.record.number = kBegun + after;
  return said;
}

SampleCalls::SampleCalls(std::uint32_t ranks, const std::string& host)
    : now_(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count()) {
  const auto today = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    auto file = std::make_unique<CallFile>();
    file->magic = kCallFileMagic;
    file->format = kCallFileFormat;
    file->rank = rank;
    file->ranks = ranks;
    file->process = 4000 + static_cast<std::int32_t>(rank);
    file->opened = now_ - nanoseconds(100);
    file->opened_at = today - nanoseconds(100);
    std::strncpy(file->host.data(), host.c_str(), file->host.size() - 1);
    file->comms[3] = {kWorld, kBegun, ranks, 0};
    file->head_rank = kNoPeer;
    files_.push_back(std::move(file));
    did(rank, collective("MPI_Barrier", kNoPeer, 0), 60);
  }
}

std::uint16_t SampleCalls::name(std::uint32_t rank, const std::string& name) {
  auto& names = of(rank).names;
  const auto place = std::ranges::find_if(names, [&](const auto& n) { return n[0] == 0 || name == n.data(); });
  std::strncpy(place->data(), name.c_str(), place->size() - 1);
  const auto number = static_cast<std::uint16_t>(place - names.begin());
  auto& old = of(rank).old_names.at(number);  // for files of older formats
  std::strncpy(old.data(), name.c_str(), old.size() - 1);
  return number;
}

CallRecord SampleCalls::record(std::uint32_t rank, const Said& said) {
  CallRecord record = said.record;
  record.call = name(rank, said.name);
  CommRecord& world = of(rank).comms[3];
  if (record.kind == CallKind::collective) world.collectives = std::max(world.collectives, record.number);
  const bool message = record.kind == CallKind::send || record.kind == CallKind::receive;
  if (message && record.peer != kNoPeer && record.number == 0 && world.uncounted == 0)
    record.number = ++counter(rank, said).count;
  return record;
}

MessageRecord& SampleCalls::counter(std::uint32_t rank, const Said& said) {
  const CallRecord& one = said.record;
  MessageRecord* free = nullptr;  // the first one
  for (MessageRecord& place : of(rank).messages) {
    if (place.kind == CallKind::none && free == nullptr) free = &place;
    if (place.comm == one.comm && place.peer == one.peer && place.tag == one.tag && place.kind == one.kind)
      return place;
  }
  *free = {one.comm, 0, one.peer, one.tag, one.kind, {}};
  return *free;
}

void SampleCalls::lasts(std::uint32_t rank, const Said& said, double seconds) {
  CallRecord record = this->record(rank, said);
  record.began = now_ - nanoseconds(seconds);
  of(rank).lasting[0] = record;
}

void SampleCalls::waits(std::uint32_t rank, const std::string& name, CallKind kind, const std::vector<Said>& requests,
                        double seconds) {
  Said said{name, {}};
  said.record.kind = kind;
  lasts(rank, said, seconds);
  for (const Said& request : requests) begins(rank, request, 1);
}

void SampleCalls::begins(std::uint32_t rank, const Said& said, std::uint16_t waiter) {
  auto& pending = of(rank).pending;
  const auto place = std::ranges::find(pending, CallKind::none, &CallRecord::kind);
  *place = record(rank, said);
  place->began = now_ - nanoseconds(55);
  place->request = static_cast<std::uint64_t>(place - pending.begin()) + 1;
  place->waiter = waiter;
  place->active = 1;
}

void SampleCalls::did(std::uint32_t rank, const Said& said, double seconds_ago) {
  CallRecord record = this->record(rank, said);
  record.ended = now_ - nanoseconds(seconds_ago);
  record.began = record.ended - nanoseconds(0.001);
  of(rank).past[of(rank).calls++ % CallFile::kPast] = record;
}

void SampleCalls::counts(std::uint32_t rank, const Said& said, std::uint64_t count) {
  counter(rank, said).count = count;
}

void SampleCalls::stops_counting(std::uint32_t rank) { of(rank).comms[3].uncounted = 1; }

void SampleCalls::all_last(const Said& said, const std::vector<std::uint32_t>& except, double seconds) {
  for (std::uint32_t rank = 0; rank < ranks(); ++rank)
    if (std::ranges::find(except, rank) == except.end()) lasts(rank, said, seconds);
}

void SampleCalls::in_cairn(std::uint32_t rank, CairnCall call, std::uint64_t number, double seconds) {
  CairnRecord& cairn = of(rank).cairn;
  begun_of(of(rank), call) = number;
  if (seconds <= 0) return;
  cairn.call = call;
  cairn.began = now_ - nanoseconds(seconds);
}

void SampleCalls::has_heads(std::uint32_t size) {
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    of(rank).node = rank / size;
    of(rank).head_process = 5000 + static_cast<std::int32_t>(rank / size);
    of(rank).head_rank = kNoPeer;
  }
}

void SampleCalls::names_world(std::uint32_t rank, const std::string& name) {
  std::strncpy(of(rank).comm_names[3].data(), name.c_str(), of(rank).comm_names[3].size() - 1);
}

std::vector<hang::Moment> SampleCalls::moments() const {
  std::vector<hang::Moment> moments(ranks());
  for (std::uint32_t rank = 0; rank < ranks(); ++rank)
    if (files_[rank]) moments[rank] = hang::moment_of(*files_[rank]);
  return moments;
}

// A test in vain has been so more often at the second reading.
std::vector<hang::RankReading> SampleCalls::readings() const {
  auto before = moments();
  for (hang::Moment& moment : before) moment.vain = moment.vain > 0 ? moment.vain - 1 : 0;
  return readings_since(before);
}

hang::HangReport SampleCalls::examine(double after) const { return hang::examine(readings(), {}, {after, after}); }

hang::HangReport SampleCalls::examine_since(const std::vector<hang::Moment>& before, double after) const {
  return hang::examine(readings_since(before), {}, {after, after});
}

std::vector<hang::RankReading> SampleCalls::readings_since(const std::vector<hang::Moment>& before) const {
  std::vector<hang::RankReading> readings;
  for (std::uint32_t rank = 0; rank < ranks(); ++rank) {
    if (!files_[rank]) continue;
    hang::RankReading reading{hang::condense(*files_[rank], before[rank]), {}, now_};
    if (const auto known = facts.find(rank); known != facts.end()) reading.process = known->second;
    if (const auto known = heads.find(files_[rank]->node); known != heads.end()) reading.head = known->second;
    readings.push_back(std::move(reading));
  }
  return readings;
}

void SampleCalls::write(Store& store) const {
  for (const auto& file : files_) {
    if (!file) continue;
    auto writer = store.create(names::calls(Rank{file->rank}), sizeof(CallFile), "");
    ASSERT_TRUE(writer) << writer.error().text();
    ASSERT_TRUE((*writer)->write(0, std::as_bytes(std::span(file.get(), 1))));
    ASSERT_TRUE((*writer)->commit(sizeof(CallFile), false));
  }
}

}  // namespace cairn::test
