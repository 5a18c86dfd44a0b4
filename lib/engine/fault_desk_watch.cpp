// What a FaultDesk sees on its own node.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "engine/fault_desk.hpp"

namespace cairn {
namespace {

// A head that moves data may have no time for messages for less than that.
constexpr std::chrono::seconds kLongPause{10};
constexpr std::chrono::seconds kPausesCount{60};

}  // namespace

void FaultDesk::look(Time now) {
  processes_.begin_look();
  for (const Rank rank : head_.ranks) look_at(rank, now);
  for (const Rank rank : head_.ranks) {
    if (const auto wrong = processes_.look_at_pace(rank, now))
      report({wrong->kind, {head_.node.me, rank}, {}, {}, wrong->measure});
  }
  look_for_waits();
  look_at_store(now);
  look_at_host(now);
  const auto silent = beats_ ? beats_->look(now) : std::vector<Heartbeats::Silent>{};
  for (const auto& [node, missed] : silent)
    report({SymptomKind::heartbeat_missed, {node, std::nullopt}, {}, {}, missed});
  for (const auto& [node, share] : transfers_.look())
    report({SymptomKind::low_bandwidth, {node, std::nullopt}, {}, {}, share});
  renew_rules(now);
}

// The process of a rank that ends its session may end too. Its calls are looked at until then: it may wait for others.
void FaultDesk::look_at(Rank rank, Time now) {
  const Peer world = head_.topology.world_of_rank[rank.value];
  const auto& hosts = head_.topology.host_of_world;
  const auto number = head_.processes.find(rank);
  const bool here = hosts[world.value] == hosts[head_.control.rank().value];
  if (!here || number == head_.processes.end() || head_.requests.finalize.contains(rank)) {
    processes_.forget(rank);
  } else if (const auto wrong = processes_.look(rank, number->second, now)) {
    report({wrong->kind, {head_.node.me, rank}, {}, {}, wrong->measure});
  }
  calls_.look(rank, processes_.state(rank));
}

void FaultDesk::look_at_store(Time now) {
  Time time = now;  // of several symptoms, each has another one
  for (const auto& [kind, measure, error] : store_.look(now))
    localizer_.report({kind, {head_.node.me, std::nullopt}, head_.node.me, time++, measure, error});
}

void FaultDesk::look_at_host(Time now) {
  for (const auto& [kind, measure] : host_.look(own_use(), now))
    report({kind, {head_.node.me, std::nullopt}, {}, {}, measure});
}

// Of a host that the job shares with itself, nobody knows what is used by others.
std::optional<NodeWatch::Own> FaultDesk::own_use() const {
  const auto hosts = head_.topology.hosts();
  if (shares_machine_ || std::ranges::count(hosts, hosts[head_.node.me.value]) != 1) return {};
  const auto ticks = processes_.ticks(head_.ranks.size());
  const auto head = sources_.process == 0 ? std::nullopt : sources_.look_at_process(sources_.process);
  if (!ticks || !head) return {};
  return NodeWatch::Own{*ticks + head->ticks, static_cast<std::uint32_t>(head_.ranks.size())};
}

// Long times without a turn: others had no answer meanwhile.
void FaultDesk::note_pause(Time now) {
  if (turned_ > Time{} && now - turned_ >= kLongPause) pauses_.emplace_back(now, now - turned_);
  turned_ = now;
  while (!pauses_.empty() && now - pauses_.front().first >= kPausesCount) pauses_.pop_front();
}

// To a node that does not take its messages, one is under way. The last one says that no other is to be expected.
void FaultDesk::beat(Time now) {
  const bool ends = head_.requests.finalize.size() >= head_.ranks.size();
  if (!beats_ || said_farewell_ || (!ends && !beats_->due(now))) return;
  said_farewell_ = ends;
  for (const NodeId to : beats_->watchers()) {
    auto& [bytes, request] = beats_sent_[to];
    if (request && !request->test().value_or(true)) continue;
    ByteWriter out;
    out.put(Bytes(life()));
    out.put(transfers_.own().exchanges);
    out.put(transfers_.own().best);
    out.put_text(host_.boot_id());
    out.put(ends);
    bytes.assign(out.bytes().begin(), out.bytes().end());
    request = head_.mail.isend(to, kHeartbeat, bytes);
  }
}

void FaultDesk::receive_beats(Time now) {
  if (!beats_) return;
  const Buffer expected = life();
  for (auto beat = head_.mail.receive(kHeartbeat); beat && *beat; beat = head_.mail.receive(kHeartbeat)) {
    const Bytes all((*beat)->bytes);
    if (all.size() < expected.size() || !std::ranges::equal(all.first(expected.size()), Bytes(expected))) continue;
    const NodeId from = head_.topology.node_of_world[(*beat)->from.value];
    beats_->heard(from, now);
    ByteReader in(all.subspan(expected.size()));
    const auto exchanges = in.get<std::uint64_t>();
    const TransferRate rate{exchanges, in.get<double>()};
    const std::string boot_id = in.get_text();
    if (in.get<bool>() && in.good()) beats_->left(from);
    if (in.good() && !boot_id.empty() && boot_id == host_.boot_id()) shares_machine_ = true;
    if (in.good() && std::isfinite(rate.best)) transfers_.note(from, rate);
  }
}

// The node that has got the file reports it by itself.
void FaultDesk::note_sent(NodeId to, Sent how) {
  sent_files_.note(to, how, head_.clock());
  if (how == Sent::damaged) report({SymptomKind::crc_mismatch, {head_.node.me, std::nullopt}, {}, {}, 1});
}

// For whom a rank waits follows only from what all nodes know.
void FaultDesk::look_for_waits() {
  constexpr double kNanoseconds = 1e-9;
  const auto now = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  const auto is_due = [&](std::int64_t since) {
    return is_worth_a_survey(static_cast<double>(now - since) * kNanoseconds, patience_);
  };
  if (std::ranges::any_of(calls_.waits(), is_due)) localizer_.ask_for_calls();
}

localize::RankProcess FaultDesk::process(Rank rank) const { return processes_.probe(rank); }

localize::NodeState FaultDesk::state() const {
  localize::NodeState state;
  store_.fill(state, head_.clock());
  host_.fill(state);
  sent_files_.fill(state, head_.clock());
  state.bandwidth = transfers_.bandwidth();
  for (const auto& [end, pause] : pauses_)
    state.queue = std::max(state.queue, std::chrono::duration<double>(pause).count());
  return state;
}

}  // namespace cairn
