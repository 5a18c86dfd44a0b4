#include "engine/fault_desk.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text_file.hpp"
#include "format/health_file.hpp"
#include "format/json_file.hpp"
#include "localize/codec.hpp"
#include "localize/words.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr milliseconds kTurnEvery{50};
constexpr seconds kLookEvery{1};  // a look at /proc takes some 20 µs for each rank
constexpr seconds kRulesEvery{10};
constexpr seconds kReportAgain{10};
// A debugger that looks around stops a process for less.
constexpr seconds kStoppedFor{2};
// So long after its last failure a store counts as healthy again.
constexpr minutes kStoreRecovers{10};
constexpr std::size_t kMostUnsent = 512;
// So that a message is about 1 KiB, which MPI sends at once: at the end of a session, the peer may receive no more.
constexpr std::size_t kMostObservationsSent = 16;
constexpr std::uint64_t kMostHealthBytes = 4 * kMiB;

// What differs from simulated heads, whose detectors never pause: a head that moves data may not look at its messages
// for seconds; and a store fails only when snapshots are written, minutes apart.
localize::Settings settings_of_heads(std::uint32_t fanout) {
  localize::Settings settings;
  settings.fanout = fanout;
  settings.window = kStoreRecovers;
  settings.receipt_limit = seconds(1);
  settings.response_limit = seconds(5);
  settings.errand_limit = seconds(5);
  settings.witness_limit = seconds(6);
  settings.answer_limit = seconds(5);
  settings.silence = seconds(5);
  settings.ask_again = seconds(1);
  return settings;
}

std::vector<NodeId> nodes_with_heads(const Topology& topology) {
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    if (topology.nodes[i].dedicated_head) nodes.push_back(NodeId{i});
  }
  return nodes;
}

// Of much evidence, a part is sent.
localize::Message shortened(localize::Message message) {
  const auto shorten = [](std::vector<localize::Observation>& list) {
    list.resize(std::min(list.size(), kMostObservationsSent));
  };
  if (auto* evidence = std::get_if<localize::EvidenceNote>(&message.body)) shorten(evidence->observations);
  if (auto* note = std::get_if<localize::VerdictNote>(&message.body)) shorten(note->verdict.evidence);
  return message;
}

void put_life(ByteWriter& out, const NodeContext& node) {
  out.put(node.incarnation.value);
  out.put(node.run.value);
}

}  // namespace

bool FaultDesk::runs_here(const Head& head) {
  return head.options.localize.on && head.topology.nodes[head.node.me.value].dedicated_head;
}

std::unique_ptr<FaultDesk> FaultDesk::open(Head& head, LookAtProcess look, std::shared_ptr<const StoreCounts> counts) {
  auto nodes = nodes_with_heads(head.topology);
  if (nodes.empty() && head.node.leads() && head.options.localize.on)
    head.node.log.info("fault localization is off: it requires heads that are ranks, [head] mode = rank");
  if (!runs_here(head)) return nullptr;
  return std::unique_ptr<FaultDesk>(new FaultDesk(head, std::move(nodes), std::move(look), std::move(counts)));
}

FaultDesk::FaultDesk(Head& head, std::vector<NodeId> nodes, LookAtProcess look,
                     std::shared_ptr<const StoreCounts> counts)
    : head_(head),
      look_(std::move(look)),
      counts_(std::move(counts)),
      settings_(settings_of_heads(head.options.localize.fanout)),
      localizer_(head.node.me, localize::Tree(std::move(nodes), settings_.fanout), settings_, book_.rules(), head.clock,
                 *this, *this),
      seen_(operations()) {}

FaultDesk::~FaultDesk() = default;

void FaultDesk::turn() {
  const Time now = head_.clock();
  if (now < next_turn_) return;
  next_turn_ = now + kTurnEvery;
  receive();
  if (now >= next_look_) {
    next_look_ = now + kLookEvery;
    look(now);
  }
  if (!localizer_.idle()) localizer_.turn();
  std::erase_if(sent_, [](const auto& one) { return one.second->test().value_or(true); });
}

void FaultDesk::report(const Symptom& symptom) {
  Symptom complete = symptom;
  complete.reporter = head_.node.me;
  complete.time = head_.clock();
  localizer_.report(complete);
}

void FaultDesk::note_write(bool failed) {
  ++written_.all;
  if (failed) ++written_.failed;
}

void FaultDesk::send(NodeId to, const localize::Message& message) {
  if (to == head_.node.me) {
    own_.push_back(message);
    return;
  }
  // A peer that does not take its messages costs bounded memory.
  if (sent_.size() >= kMostUnsent) return;
  ByteWriter out;
  put_life(out, head_.node);
  out.put(Bytes(encode(shortened(message))));
  Buffer bytes = out.take();
  auto request = head_.control.isend(head_.topology.nodes[to.value].head, kToFaultDesk, bytes);
  sent_.emplace_back(std::move(bytes), std::move(request));
}

void FaultDesk::receive() {
  for (; !own_.empty(); own_.pop_front()) localizer_.receive(localize::Message(own_.front()));
  // An error is that of a lost peer, which the engine meets by itself.
  for (auto envelope = head_.control.probe(kToFaultDesk); envelope && *envelope;
       envelope = head_.control.probe(kToFaultDesk)) {
    const auto bytes = head_.control.recv_probed(**envelope);
    if (!bytes) return;
    ByteWriter life;
    put_life(life, head_.node);
    const Bytes all(*bytes);
    if (all.size() < life.size() || !std::ranges::equal(all.first(life.size()), life.bytes())) continue;
    const auto message = localize::decode_message(all.subspan(life.size()));
    if (message) localizer_.receive(*message);
  }
}

void FaultDesk::look(Time now) {
  for (const Rank rank : head_.ranks) look_at_process(rank, now);
  look_at_store(now);
  renew_rules(now);
}

// Of a rank on this host that has not ended its session. One that was never seen alive is in another container.
void FaultDesk::look_at_process(Rank rank, Time now) {
  const Peer world = head_.topology.world_of_rank[rank.value];
  const auto& hosts = head_.topology.host_of_world;
  const auto number = head_.processes.find(rank);
  const bool here = hosts[world.value] == hosts[head_.control.rank().value];
  if (!here || number == head_.processes.end() || head_.requests.finalize.contains(rank)) {
    processes_.erase(rank);
    return;
  }
  const auto found = look_(number->second);
  const auto known = processes_.find(rank);
  if (known == processes_.end()) {
    if (found && !found->ended()) processes_.emplace(rank, Process{found->started, *found, false, {}, {}});
    return;
  }
  Process& process = known->second;
  process.ended = !found || found->ended() || found->started != process.started;
  if (found) process.now = *found;
  const bool stopped = !process.ended && found->stopped();
  if (!stopped) process.stopped_since.reset();
  if (stopped && !process.stopped_since) process.stopped_since = now;
  if (now < process.next_report) return;
  const Suspect suspect{head_.node.me, rank};
  if (process.ended) {
    report({SymptomKind::process_failed, suspect, {}, {}, 1});
  } else if (stopped && now - *process.stopped_since >= kStoppedFor) {
    const double stopped_seconds = std::chrono::duration<double>(now - *process.stopped_since).count();
    report({SymptomKind::process_stopped, suspect, {}, {}, stopped_seconds});
  } else {
    return;
  }
  process.next_report = now + kReportAgain;
}

FaultDesk::Operations FaultDesk::operations() const {
  return {counts_->operations() + written_.all, counts_->failed() + written_.failed};
}

// A symptom for each failed operation, as far as they count.
void FaultDesk::look_at_store(Time now) {
  const Operations all = operations();
  const std::uint64_t failed = all.failed - seen_.failed;
  if (failed > 0) {
    if (!failing_since_) failing_since_ = now, before_failures_ = seen_;
    last_failure_ = now;
    const double share = static_cast<double>(failed) / static_cast<double>(all.all - seen_.all);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(failed, localize::kMostRepeats); ++i) {
      const Symptom symptom{SymptomKind::store_error,
                            {head_.node.me, std::nullopt},
                            head_.node.me,
                            now + Time(static_cast<std::int64_t>(i)),
                            share};
      localizer_.report(symptom);
    }
  }
  seen_ = all;
  if (failing_since_ && now - last_failure_ >= kStoreRecovers) failing_since_.reset();
}

// A file that cannot be read, or has mistakes, changes nothing.
void FaultDesk::renew_rules(Time now) {
  const std::string& file = head_.options.localize.rules;
  if (file.empty() || now < next_rules_) return;
  next_rules_ = now + kRulesEvery;
  const auto text = read_text_file(file, Code::config);
  if (!text) {
    if (!std::exchange(unreadable_, true)) head_.node.log.warning("[localize] rules: {}", text.error().text());
    return;
  }
  unreadable_ = false;
  const auto renewal = book_.renew(*text);
  if (renewal == localize::RuleBook::Renewal::changed) localizer_.use(book_.rules());
  if (renewal == localize::RuleBook::Renewal::refused && head_.node.leads())
    head_.node.log.warning("[localize] rules: {}; the rules stay as they were",
                           mistake_text(file, book_.mistakes().front()));
}

localize::RankProcess FaultDesk::process(Rank rank) const {
  const auto found = processes_.find(rank);
  if (found == processes_.end()) return {};
  return {!found->second.ended, found->second.stopped_since.has_value()};
}

localize::NodeState FaultDesk::state() const {
  localize::NodeState state;
  if (!failing_since_) return state;
  const Operations all = operations();
  state.store_operations = static_cast<double>(all.all - before_failures_.all);
  state.store_failed = static_cast<double>(all.failed - before_failures_.failed);
  state.store_errors = state.store_operations > 0 ? state.store_failed / state.store_operations : 0;
  state.store_since = std::chrono::duration<double>(head_.clock() - *failing_since_).count();
  return state;
}

localize::NodeLog FaultDesk::log(std::optional<Rank> /*rank*/) const { return {}; }

void FaultDesk::analysis_begins(NodeId suspect) {
  analyses_.insert_or_assign(suspect, head_.node.trace.span_beside("analyse node"));
}

void FaultDesk::analysis_ends(NodeId suspect) { analyses_.erase(suspect); }

void FaultDesk::announce(const localize::Verdict& verdict) {
  localize::Setting setting{head_.topology.hosts(), {}};
  setting.today = std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch());
  head_.node.log.warning("{}", verdict_text(verdict, setting));
  keep_verdicts();
}

void FaultDesk::keep_verdicts() {
  localize::Setting setting{head_.topology.hosts(), {}};
  const auto today = std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch());
  setting.today = today;
  HealthFile health{head_.node.incarnation, {}};
  for (localize::Verdict& verdict : localizer_.standing()) {
    HealthEntry entry{{},
                      setting.hosts[verdict.suspect.node.value],
                      static_cast<std::uint64_t>(today.count()),
                      verdict_text(verdict, setting)};
    for (localize::Observation& seen : verdict.evidence) {
      seen.first = verdict.decided_at - seen.first;
      seen.last = verdict.decided_at - seen.last;
    }
    entry.verdict = std::move(verdict);
    health.entries.push_back(std::move(entry));
  }
  const auto status =
      write_json_text(*head_.node.global, names::health(), to_json(health, head_.node.sealer), kMostHealthBytes);
  if (!status && !std::exchange(unwritable_, true))
    head_.node.log.warning("ckpt-tool health cannot show what is sick: {}", status.error().text());
}

}  // namespace cairn
