#include "localize/localizer.hpp"

#include <algorithm>
#include <utility>

namespace cairn::localize {
namespace {

constexpr std::size_t kMostCases = 64;
constexpr Time kReviewEvery = std::chrono::milliseconds(500);
constexpr Time kPublishEvery = std::chrono::seconds(5);
constexpr Time kExcuseLasts = std::chrono::seconds(1);

// The ranks of one deadlock may be found in several circles.
bool is_about(const Blocker& blocker, const Suspect& suspect) {
  if (!blocker.deadlock() || !suspect.rank) return blocker.suspect == suspect;
  return std::ranges::find(blocker.ranks, *suspect.rank) != blocker.ranks.end();
}

Observation observation_of(const Symptom& symptom, Time now) {
  return {symptom.kind, symptom.suspect, symptom.reporter, now, now, symptom.time, 1, symptom.measure, symptom.note};
}

}  // namespace

Localizer::Localizer(NodeId self, Tree tree, const Settings& settings, std::shared_ptr<const RuleSet> rules,
                     Clock clock, Port& port, const Host& host)
    : self_(self),
      tree_(std::move(tree)),
      settings_(settings),
      clock_(std::move(clock)),
      port_(port),
      host_(host),
      rules_(std::move(rules)),
      courier_(self_, tree_, settings_, known_, port_, numbers_),
      evidence_(settings_.window),
      errands_(self_, settings_, port_, numbers_),
      survey_(self_, tree_, settings_, port_, numbers_),
      own_(settings_) {}

void Localizer::report(const Symptom& symptom) {
  if (!tree_.has(symptom.suspect.node)) return;
  now_ = clock_();
  courier_.post(EvidenceNote{{observation_of(symptom, now_)}, {}, 0}, now_);
  take_own_notes();
}

std::vector<Observation> Localizer::pending() const {
  std::vector<Observation> all = evidence_.all();
  const auto add = [&](const std::vector<Observation>& more) {
    for (const Observation& seen : more) {
      const auto is_it = [&](const Observation& one) {
        return one.kind == seen.kind && one.suspect == seen.suspect && one.reporter == seen.reporter &&
               one.reported == seen.reported;
      };
      if (std::ranges::none_of(all, is_it)) all.push_back(seen);
    }
  };
  add(courier_.pending());
  for (const auto& [node, one] : cases_)
    if (!one.again) add(one.analysis.group());
  const Time now = clock_();
  for (Observation& seen : all) seen.first = now - seen.first, seen.last = now - seen.last;
  return all;
}

void Localizer::take_up(const Observation& aged) {
  if (!tree_.has(aged.suspect.node)) return;
  now_ = clock_();
  Observation seen = aged;
  seen.first = now_ - aged.first;
  seen.last = now_ - aged.last;
  courier_.post(EvidenceNote{{seen}, {}, 0}, now_);
  take_own_notes();
}

void Localizer::ask_for_calls() {
  now_ = clock_();
  survey_.want(now_);
}

void Localizer::finish_survey() {
  const auto reports = survey_.turn(now_);
  if (!reports) return;
  for (const Blocker& blocker : host_.blockers(*reports)) {
    if (!tree_.has(blocker.suspect.node)) continue;
    const auto kind = blocker.deadlock() ? SymptomKind::deadlock : SymptomKind::waited_for;
    Observation seen = observation_of({kind, blocker.suspect, self_, now_, blocker.waited}, now_);
    if (!blocker.deadlock()) seen.count = std::min(blocker.waiting, kMostRepeats);
    courier_.post(EvidenceNote{{seen}, {}, 0}, now_);
  }
  take_own_notes();
}

void Localizer::turn() {
  now_ = clock_();
  known_.forget_before(now_);
  courier_.turn(now_);
  take_own_notes();
  errands_.turn(now_);
  finish_survey();
  if (now_ >= next_review_) {
    next_review_ = now_ + kReviewEvery;
    evidence_.forget_before(now_, [&](NodeId node) { return cases_.contains(node); });
    std::erase_if(excuses_, [&](const auto& entry) { return entry.second.until < now_; });
    hand_on();
    const NodeId root = acting_root(tree_, self_, known_);
    if (std::exchange(root_, root) != root) {
      for (const Verdict& verdict : own_.all()) send_to_root(verdict);
    }
    publish_again();
    for (const Verdict& verdict : all_.take_grown()) port_.announce(verdict);
    for (const Verdict& verdict : all_.take_renewed()) port_.renew(verdict);
  }
  begin_analyses();
  recheck();
  advance();
}

bool Localizer::idle() const {
  return courier_.idle() && evidence_.empty() && cases_.empty() && errands_.empty() && survey_.idle() && own_.empty() &&
         known_.empty() && !all_.any_news();
}

const Group* Localizer::analysed(NodeId node) const {
  const auto found = cases_.find(node);
  return found == cases_.end() ? nullptr : &found->second.analysis.group();
}

void Localizer::take_own_notes() {
  for (Note& note : courier_.take_own()) {
    if (const auto* verdict = std::get_if<VerdictNote>(&note)) {
      announce(verdict->verdict);
      continue;
    }
    for (const Observation& observation : std::get<EvidenceNote>(note).observations) keep(observation);
  }
}

void Localizer::keep(const Observation& observation) {
  if (own_.note(observation) || excused(observation)) return;
  evidence_.add(observation);
  fresh_.insert(observation.suspect.node);
}

bool Localizer::excused(const Observation& observation) const {
  const auto found = excuses_.find(observation.suspect);
  return found != excuses_.end() && found->second.until >= now_ &&
         found->second.kinds.test(static_cast<std::size_t>(observation.kind));
}

// Evidence about nodes that another node analyses by now.
void Localizer::hand_on() {
  for (const NodeId node : evidence_.suspects()) {
    if (cases_.contains(node)) continue;
    const auto analyst = analyst_of(tree_, node, known_);
    if (analyst && *analyst != self_) courier_.post(EvidenceNote{evidence_.take(node), {}, 0}, now_);
  }
}

void Localizer::begin_analyses() {
  for (auto node = fresh_.begin(); node != fresh_.end() && cases_.size() < kMostCases;) {
    if (cases_.contains(*node)) {
      ++node;
      continue;
    }
    for (const Group& group : evidence_.groups(*node)) {
      if (evidence_.weight(group, *rules_) < settings_.threshold) continue;
      cases_.emplace(*node, Case{Analysis(rules_, group, now_), std::nullopt, std::nullopt});
      port_.analysis_begins(*node);
      break;
    }
    node = fresh_.erase(node);
  }
}

// Whether somebody outside has reported it lately.
bool Localizer::is_suspected(const Verdict& verdict) const {
  return std::ranges::any_of(verdict.evidence, [&](const Observation& seen) {
    return seen.kind == SymptomKind::suspected && seen.last + settings_.suspicion_lasts > now_;
  });
}

void Localizer::recheck() {
  while (const auto verdict = own_.due(now_)) {
    if (cases_.contains(verdict->suspect.node)) continue;
    if (verdict->fault == Fault::undetermined && is_suspected(*verdict)) continue;
    if (verdict->fault == Fault::undetermined && own_.quiet(*verdict)) {
      if (const auto withdrawn = own_.withdraw(*verdict)) send_to_root(*withdrawn);
      continue;
    }
    cases_.emplace(verdict->suspect.node, Case{Analysis(rules_, verdict->evidence, now_), std::nullopt, verdict});
    port_.analysis_begins(verdict->suspect.node);
  }
}

void Localizer::advance() {
  for (auto one = cases_.begin(); one != cases_.end();) {
    if (!advance(one->second)) {
      ++one;
      continue;
    }
    port_.analysis_ends(one->first);
    fresh_.insert(one->first);  // what is left may be another fault
    one = cases_.erase(one);
  }
}

bool Localizer::advance(Case& one) {
  Analysis& analysis = one.analysis;
  while (true) {
    if (one.round) {
      one.round->turn(self_, now_, port_, numbers_, settings_);
      if (!one.round->done(now_)) return false;
      learn(analysis, *one.round);
      one.round.reset();
    }
    const auto probe = analysis.next_probe();
    if (!probe) break;
    one.round = begin_round(*probe, analysis.suspect());
  }
  one.again ? conclude_again(one, *one.again) : conclude(one);
  return true;
}

void Localizer::learn(Analysis& analysis, const ProbeRound& round) const {
  FoundFacts facts = round.facts(host_.state());
  const Suspect& suspect = analysis.suspect();
  if (round.asks_for_calls()) {
    const CallReports reports = round.reports();
    double blocks = 0;
    double deadlock = 0;
    for (const Blocker& one : host_.blockers(reports)) {
      if (!is_about(one, suspect)) continue;
      analysis.learn(one);
      (one.deadlock() ? deadlock : blocks) = one.waited;
    }
    // What it does is not known without its calls.
    if (reports.calls.contains(suspect.node)) {
      facts.emplace_back(ProbeFact::log_blocks, blocks);
      facts.emplace_back(ProbeFact::log_deadlock, deadlock);
    }
  }
  analysis.learn(round.probe(), facts);
}

ProbeRound Localizer::begin_round(Probe probe, const Suspect& suspect) {
  std::vector<NodeId> asked{suspect.node};
  if (probe == Probe::witness) asked = witnesses_for(tree_, suspect.node, self_, known_, settings_.witnesses);
  const Time limit = probe == Probe::response  ? settings_.response_limit
                     : probe == Probe::witness ? settings_.witness_limit
                                               : settings_.answer_limit;
  const bool calls = probe == Probe::log && suspect.rank && settings_.asks_for_calls;
  for (const NodeId node : tree_.nodes()) {
    if (calls && node != suspect.node && !known_.dead(node)) asked.push_back(node);
  }
  return {probe, suspect, std::move(asked), now_, limit, calls};
}

void Localizer::conclude(const Case& one) {
  if (one.analysis.outcome() == Analysis::Outcome::excused) return excuse(one.analysis);
  const Verdict verdict = one.analysis.verdict(self_, now_);
  for (const Verdict& news : own_.add(verdict, *rules_, now_)) send_to_root(news);
  const bool all = verdict.fault == Fault::undetermined;  // or it would be analysed again at once
  evidence_.drop(verdict.suspect.node, [&](const Observation& seen) { return all || own_.explains(seen); });
}

void Localizer::conclude_again(const Case& one, const Verdict& before) {
  const auto outcome = one.analysis.outcome();
  if (outcome == Analysis::Outcome::confirmed || before.fault == Fault::undetermined) {
    Verdict now = one.analysis.verdict(self_, now_);
    now.threshold_at = before.threshold_at;
    if (same_fault(now, before) || outcome == Analysis::Outcome::confirmed) {
      for (const Verdict& news : own_.add(now, *rules_, now_)) send_to_root(news);
    }
    if (same_fault(now, before)) return;
  }
  if (const auto withdrawn = own_.withdraw(before)) send_to_root(*withdrawn);
}

void Localizer::excuse(const Analysis& analysis) {
  const Symptoms kinds = analysis.excused();
  const auto fits = [&](const Observation& seen) {
    return seen.suspect == analysis.suspect() && kinds.test(static_cast<std::size_t>(seen.kind));
  };
  const bool any = std::ranges::any_of(analysis.group(), fits);
  if (any && excuses_.size() < kMostSuspects) {
    Excuse& excuse = excuses_[analysis.suspect()];
    excuse.until = now_ + kExcuseLasts;
    excuse.kinds |= kinds;
  }
  evidence_.drop(analysis.suspect().node, [&](const Observation& seen) { return !any || fits(seen); });
}

void Localizer::send_to_root(const Verdict& verdict) {
  courier_.post(VerdictNote{verdict, {}}, now_);
  take_own_notes();
}

void Localizer::announce(const Verdict& verdict) {
  const auto news = all_.merge(verdict);
  if (!news) return;
  port_.announce(*news);
  if (news->fault == Fault::node_down) publish(news->suspect.node, !news->withdrawn);
}

void Localizer::publish(NodeId node, bool dead) {
  const Bulletin bulletin{node, dead};
  handle(self_, 0, bulletin);
  // The one that replaces the root informs the other children of the root as well.
  const NodeId first = tree_.nodes().front();
  if (first == self_) return;
  for (const NodeId child : living_children(tree_, first, known_)) {
    if (child != self_) port_.send(child, {self_, numbers_++, bulletin});
  }
}

// Bulletins may get lost.
void Localizer::publish_again() {
  if (now_ < next_publication_) return;
  next_publication_ = now_ + kPublishEvery;
  for (const Verdict& verdict : all_.standing()) {
    if (verdict.fault == Fault::node_down) publish(verdict.suspect.node, true);
  }
}

}  // namespace cairn::localize
