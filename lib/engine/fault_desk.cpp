#include "engine/fault_desk.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/list_text.hpp"
#include "base/processor_time.hpp"
#include "base/text_file.hpp"
#include "hang/short_form.hpp"
#include "localize/codec.hpp"
#include "localize/detect.hpp"
#include "recover/outlook.hpp"

namespace cairn {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kTurnEvery{50};
constexpr seconds kLookEvery{1};  // a look at /proc and at the calls takes some 50 µs for each rank
constexpr seconds kRulesEvery{10};
constexpr seconds kSuspicionsEvery{5};  // a listing of the global store, by one head
constexpr std::chrono::minutes kSuspicionLoggedEvery{10};
constexpr seconds kSpoolEvery{5};
constexpr seconds kSpoolAgain{60};         // when it has failed
constexpr std::size_t kMostUnsent = 4096;  // parts of messages
// With the calls of its ranks, the longest is that of a node with hundreds of ranks.
constexpr std::size_t kMostMessageBytes = 4 * kMiB;
constexpr std::size_t kMostObservationsSent = 16;

// What differs from simulated heads, whose detectors never pause: a head that moves data may not look at its messages
// for seconds; and a store fails only when snapshots are written, minutes apart.
localize::Settings settings_of_heads(const EngineOptions::Localize& options) {
  localize::Settings settings;
  settings.fanout = options.fanout;
  settings.threshold = options.threshold;
  settings.window = options.window;
  settings.receipt_limit = seconds(1);
  settings.response_limit = seconds(5);
  settings.errand_limit = seconds(5);
  settings.witness_limit = seconds(6);
  settings.answer_limit = seconds(5);
  settings.silence = seconds(5);
  settings.ask_again = seconds(1);
  settings.asks_for_calls = true;
  return settings;
}

// Off: what may continue is never suspected. What cannot is reported all the same.
hang::Patience patience_of(const WaitLimit& stuck_after) {
  hang::Patience patience;
  patience.likely = std::numeric_limits<double>::infinity();
  if (stuck_after) patience.likely = std::chrono::duration<double>(*stuck_after).count();
  patience.certain = std::min(patience.certain, patience.likely);
  return patience;
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

// "node 5", "nodes 1, 5"
std::string numbers_of_nodes(const std::vector<NodeId>& nodes) {
  constexpr std::size_t kShown = 16;
  std::vector<std::uint32_t> numbers;
  for (const NodeId node : nodes) numbers.push_back(node.value);
  return fmt::format("{} {}", numbers.size() == 1 ? "node" : "nodes", first_few(numbers, kShown));
}

// The clock of the records of calls.
std::int64_t monotonic_now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

class FaultDesk::Meter {
 public:
  explicit Meter(FaultDesk& desk) : desk_(desk) {
    if (desk_.head_.node.trace.is_on()) begun_ = processor_time_of_thread();
  }
  ~Meter() {
    if (begun_) desk_.taken_ += processor_time_of_thread() - *begun_;
  }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

 private:
  FaultDesk& desk_;
  std::optional<std::chrono::nanoseconds> begun_;
};

bool FaultDesk::runs_here(const Head& head) {
  return head.options.localize.on && head.topology.nodes[head.node.me.value].dedicated_head;
}

std::unique_ptr<FaultDesk> FaultDesk::open(Head& head, const Catalog& catalog, const Sources& sources) {
  auto nodes = nodes_with_heads(head.topology);
  if (nodes.empty() && head.node.leads() && head.options.localize.on)
    head.node.log.info("fault localization is off: it requires heads that are ranks, [head] mode = rank");
  if (!runs_here(head)) return nullptr;
  return std::unique_ptr<FaultDesk>(new FaultDesk(head, catalog, std::move(nodes), sources));
}

FaultDesk::FaultDesk(Head& head, const Catalog& catalog, std::vector<NodeId> nodes, const Sources& sources)
    : head_(head),
      catalog_(catalog),
      sources_(sources),
      settings_(settings_of_heads(head.options.localize)),
      patience_(patience_of(head.options.localize.stuck_after)),
      tree_(std::move(nodes), settings_.fanout),
      localizer_(head.node.me, tree_, settings_, book_.rules(), head.clock, *this, *this),
      parts_(kMostMessageBytes),
      processes_(sources.look_at_process, sources.count_oom_kills),
      store_(sources.counts, sources.store),
      host_(sources.look_at_host),
      transfers_(head.node.me),
      calls_(sources.store),
      spool_(head.node.local, head.topology, head.node.sealer, head.node.log),
      health_(head.node.global, head.topology, head.node.incarnation, head.node.sealer, head.node.log),
      watch_(head.node.global, head.node.sealer, head.node.log),
      suspicions_(head.node.global, head.topology, head.node.sealer, head.node.log) {
  if (const auto& after = head.options.localize.silent_after) beats_.emplace(head.node.me, tree_, *after);
  const auto kept = spool_.read(static_cast<std::uint64_t>(seconds_of_today().count()));
  for (const localize::Observation& seen : kept)
    if (seen.last < settings_.window) localizer_.take_up(seen);
  if (head_.node.leads()) health_.begin(seconds_of_today());
}

FaultDesk::~FaultDesk() = default;

void FaultDesk::turn(bool decided) {
  const Time now = head_.clock();
  if (now < next_turn_) return;
  next_turn_ = now + kTurnEvery;
  const Meter meter(*this);
  note_pause(now);
  receive();
  receive_beats(now);
  beat(now);
  if (now >= next_look_) {
    next_look_ = now + kLookEvery;
    look(now);
    health_.renew(seconds_of_today());
    take_suspicions(now);
    head_.node.trace.count("fault localization, processor s", std::chrono::duration<double>(taken_).count());
  }
  if (decided) report_watch(now);
  if (!localizer_.idle()) localizer_.turn();
  ask_for_snapshot(now);
  keep_pending(now);
  std::erase_if(sent_, [](const auto& one) { return one.second->test().value_or(true); });
}

bool FaultDesk::spool() {
  auto pending = localizer_.pending();
  pending.insert(pending.end(), dead_.begin(), dead_.end());
  return spool_.write(pending, static_cast<std::uint64_t>(seconds_of_today().count()));
}

void FaultDesk::stop_watching() {
  if (head_.node.leads()) watch_.end();
}

void FaultDesk::end() {
  if (spool_.holds_any()) spool_.remove();
  health_.end(seconds_of_today());
}

void FaultDesk::note_dead(std::span<const Peer> dead) {
  dead_.clear();
  const localize::About about{{}, head_.node.me, head_.clock()};
  for (const Symptom& seen : localize::detect_dead(about, dead, head_.topology.node_of_world)) {
    dead_.push_back({seen.kind, seen.suspect, seen.reporter, {}, {}, seen.time, 1, seen.measure});
    head_.node.log.debug("MPI reports dead processes of node {} to node {}: {}", seen.suspect.node.value,
                         head_.node.me.value, seen.measure);
  }
}

// Each write that fails is a symptom, too: it must not lead to another one at once.
void FaultDesk::keep_pending(Time now) {
  if (now < next_spool_ || (localizer_.idle() && !spool_.holds_any())) return;
  spoolable_ = spool();
  next_spool_ = now + (spoolable_ ? kSpoolEvery : kSpoolAgain);
}

// The application may end the job because of it.
void FaultDesk::note_write(const Seal& seal) {
  store_.note_write(seal);
  if (!seal.error) return;
  next_turn_ = next_look_ = {};
  if (spoolable_) next_spool_ = {};
}

void FaultDesk::report(const Symptom& symptom) {
  Symptom complete = symptom;
  complete.reporter = head_.node.me;
  complete.time = head_.clock();
  localizer_.report(complete);
}

void FaultDesk::suspect(const Suspect& suspect, const std::string& text) {
  const Meter meter(*this);
  note_suspicion(suspect, text);
}

// Each is in the log, whatever comes of it; but one that is repeated all the time is not there each time.
void FaultDesk::note_suspicion(const Suspect& suspect, const std::string& text) {
  report({SymptomKind::suspected, suspect, {}, {}, 1, text});
  const Time now = head_.clock();
  const auto [last, first] = logged_suspicions_.try_emplace(suspect, now);
  if (!first && now - last->second < kSuspicionLoggedEvery) return;
  last->second = now;
  const std::string rank = suspect.rank ? fmt::format("rank {} on ", suspect.rank->value) : "";
  head_.node.log.warning("{}node {} is reported from outside: \"{}\"", rank, suspect.node.value, text);
}

void FaultDesk::take_suspicions(Time now) {
  if (!head_.node.leads() || now < next_suspicions_) return;
  next_suspicions_ = now + kSuspicionsEvery;
  (void)health_.notice_clear();
  for (const Suspicion& one : suspicions_.take(static_cast<std::uint64_t>(seconds_of_today().count())))
    note_suspicion(one.suspect, one.text);
}

Buffer FaultDesk::life() const {
  ByteWriter out;
  out.put(head_.node.incarnation.value);
  out.put(head_.node.run.value);
  return {out.bytes().begin(), out.bytes().end()};
}

void FaultDesk::send(NodeId to, const localize::Message& message) {
  if (to == head_.node.me) {
    own_.push_back(message);
    return;
  }
  // A peer that does not take its messages costs bounded memory.
  if (sent_.size() >= kMostUnsent) return;
  ByteWriter out;
  out.put(Bytes(life()));
  out.put(Bytes(encode(shortened(message))));
  for (Buffer& part : cut_into_parts(out.bytes())) {
    auto request = head_.mail.isend(to, kToFaultDesk, part);
    sent_.emplace_back(std::move(part), std::move(request));
  }
}

void FaultDesk::receive() {
  for (; !own_.empty(); own_.pop_front()) localizer_.receive(localize::Message(own_.front()));
  // An error is that of a lost peer, which the engine meets by itself.
  for (auto part = head_.mail.receive(kToFaultDesk); part && *part; part = head_.mail.receive(kToFaultDesk)) {
    const auto whole = parts_.take((*part)->from, (*part)->bytes);
    if (!whole) continue;
    const Buffer now = life();
    const Bytes all(*whole);
    if (all.size() < now.size() || !std::ranges::equal(all.first(now.size()), Bytes(now))) continue;
    const auto message = localize::decode_message(all.subspan(now.size()));
    if (!message) continue;
    if (beats_) beats_->heard(message->from, head_.clock());
    localizer_.receive(*message);
  }
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

localize::NodeLog FaultDesk::log(std::optional<Rank> rank) const {
  localize::NodeLog log;
  if (rank) log.pace = processes_.pace(*rank);
  sent_files_.fill(log, head_.clock());
  return log;
}

Buffer FaultDesk::calls() const { return hang::encode(calls_.readings(monotonic_now())); }

std::vector<localize::Blocker> FaultDesk::blockers(const localize::CallReports& reports) const {
  const auto& worlds = head_.topology.world_of_rank;
  const auto node_of = [&](Rank rank) { return head_.topology.node_of_world[worlds[rank.value].value]; };
  return find_blockers(reports, static_cast<std::uint32_t>(worlds.size()), node_of, patience_);
}

void FaultDesk::analysis_begins(NodeId suspect) {
  analyses_.insert_or_assign(suspect, head_.node.trace.span_beside("analyse node"));
}

void FaultDesk::analysis_ends(NodeId suspect) { analyses_.erase(suspect); }

// Of the snapshots that head 0 knows: it announces the verdicts.
localize::Setting FaultDesk::setting_of(const localize::Verdict& verdict) const {
  std::vector<NodeId> lost;
  if (localize::endangers_node(verdict)) lost.push_back(verdict.suspect.node);
  return {head_.topology.hosts(), seconds_of_today(), outlook_without(catalog_, lost)};
}

void FaultDesk::renew(const localize::Verdict& verdict) {
  const localize::Setting setting = setting_of(verdict);
  health_.take(verdict, verdict_text(verdict, setting), *setting.today);
}

void FaultDesk::announce(const localize::Verdict& verdict) {
  const localize::Setting setting = setting_of(verdict);
  const std::string text = verdict_text(verdict, setting);
  head_.node.log.warning("{}", text);
  health_.take(verdict, text, *setting.today);
  const localize::Act act = head_.options.localize.act;
  if (act >= localize::Act::avoid && !verdict.withdrawn && localize::calls_for_avoiding(verdict)) {
    head_.sick.insert(verdict.suspect.node);
    head_.send_to_other_heads(AvoidNodes{{verdict.suspect.node.value}});
  }
  if (act >= localize::Act::snapshot) snapshots_.take(verdict);
}

// The first head is the root of the tree. It knows the verdicts, and so which heads do not answer.
void FaultDesk::report_watch(Time now) {
  if (!head_.node.leads() || !watch_.due(now)) return;
  std::set<NodeId> silent;
  for (const localize::Verdict& verdict : localizer_.standing()) {
    if (verdict.fault == localize::Fault::node_down) silent.insert(verdict.suspect.node);
    if (verdict.fault == localize::Fault::partition) silent.insert(verdict.nodes.begin(), verdict.nodes.end());
  }
  WatchFile watch{.life = head_.node.incarnation};
  watch.ranks = static_cast<std::uint32_t>(head_.topology.world_of_rank.size());
  watch.heads = head_.topology.node_count();
  for (const NodeId node : tree_.nodes()) watch.watching += silent.contains(node) ? 0 : 1;
  watch.calls = calls_.any();
  watch.looked = static_cast<std::uint64_t>(seconds_of_today().count());
  watch_.write(watch, now);
}

// The ranks agree on it, so one of them is asked.
void FaultDesk::ask_for_snapshot(Time now) {
  const auto endangered = snapshots_.due(now);
  if (!endangered) return;
  const auto level = level_without(*endangered);
  const std::string danger = numbers_of_nodes(*endangered) + " may soon be lost";
  if (!level) return head_.node.log.info("{}, and no level above L1 is on for a snapshot", danger);
  head_.node.log.info("{}: all ranks take a snapshot at L{}", danger, static_cast<int>(*level));
  head_.tell(head_.ranks.empty() ? Rank{} : head_.ranks.front(), SnapshotNow{*level});
  if (head_.bell) head_.bell->ring(Bell::Who::ranks);
}

// The cheapest level from which a snapshot can be restored after these nodes are lost; else the most expensive one.
// None: the job has only the own stores of its nodes.
std::optional<LevelId> FaultDesk::level_without(const std::vector<NodeId>& lost) const {
  const NodeContext& node = head_.node;
  const LevelSet usable = head_.usable - LevelSet{node.levels.of_own_shards()};
  LevelSet enough = usable;
  for (std::uint32_t turn = 0; turn < node.layout.rotation; ++turn)
    enough = enough & node.levels.that_survive(node.layout, lost, turn);
  if (!enough.empty()) return *enough.begin();
  std::optional<LevelId> last;
  for (const LevelId level : usable) last = level;
  return last;
}

}  // namespace cairn
