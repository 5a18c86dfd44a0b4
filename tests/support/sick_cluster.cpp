#include "support/sick_cluster.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "support/sick_world.hpp"

namespace cairn::test {
namespace {

using localize::Fault;
using localize::Time;

constexpr std::array<std::string_view, kAilments> kAilmentNames{
    "process dead",  "rank stuck",      "rank slow",    "node down",     "node stolen",
    "node swapping", "store failing",   "store full",   "link degraded", "partition",
    "path corrupts", "head overloaded", "memory flips", "card errors",   "store corrupts"};
constexpr std::array<std::string_view, kTroubles> kTroubleNames{
    "none", "lossy", "analyst dead", "analyst overloaded", "analyst dies", "second fault"};
constexpr Time kWarmUp = std::chrono::seconds(10);
// After all is found: what false verdicts follow from it?
constexpr Time kAftermath = std::chrono::seconds(6);

class Trial {
 public:
  explicit Trial(const SickCase& what)
      : case_(what), world_(what, [this](const localize::Verdict& verdict, Time at) { judge(verdict, at); }) {
    const localize::RuleBook book;
    for (std::size_t i = 0; i < localize::kFaults; ++i) {
      explained_[i] = localize::explained_by(*book.rules(), static_cast<Fault>(i));
    }
  }

  Judgement play() {
    if (case_.ailment) plan(*case_.ailment);
    std::optional<Time> complete;
    while (world_.now() < case_.lasts && !(complete && world_.now() >= *complete + kAftermath)) {
      begin_what_is_due();
      world_.step();
      watch_analysts();
      if (!complete && case_.ailment && all_found()) complete = world_.now();
    }
    summarize();
    return std::move(judgement_);
  }

 private:
  [[nodiscard]] Sickness draw(Ailment ailment) {
    Dice& dice = world_.dice();
    Sickness sickness{ailment, NodeId{dice.below(case_.nodes)}, {}, {}, 0, {}};
    sickness.rank.value = sickness.node.value * kRanksPerNode + dice.below(kRanksPerNode);
    const std::uint32_t steps[] = {1, case_.nodes - 1, 2, case_.nodes - 2, 3};
    sickness.other.value = (sickness.node.value + steps[dice.below(5)]) % case_.nodes;
    if (ailment == Ailment::partition) {
      sickness.cut_off = std::max(case_.nodes / 8, 3U) + dice.below(case_.nodes / 4);
      sickness.node.value = dice.below(case_.nodes - sickness.cut_off + 1);
    }
    sickness.begins = kWarmUp + Time(static_cast<std::int64_t>(dice.uniform(0, 2e6)));
    return sickness;
  }

  void plan(Ailment ailment) {
    add(draw(ailment));
    const auto first = judgement_.sicknesses.front();
    if (case_.trouble == Trouble::second_fault) {
      Sickness second = draw(static_cast<Ailment>(world_.dice().below(kAilments)));
      const auto clash = [&] {
        const bool same = second.node == first.node || second.node == first.other || second.other == first.node;
        const bool no_path = (second.ailment == Ailment::path_corrupts || ailment == Ailment::path_corrupts) &&
                             (second.ailment == Ailment::partition || ailment == Ailment::partition);
        return same || no_path || (second.ailment == Ailment::partition && ailment == Ailment::partition);
      };
      while (clash()) second = draw(static_cast<Ailment>(world_.dice().below(kAilments)));
      add(second);
    }
    const auto analyst = localize::analyst_of(world_.tree(), first.node, {});
    if (case_.trouble == Trouble::analyst_dead)
      add({Ailment::node_down, *analyst, {}, {}, 0, kWarmUp - std::chrono::seconds(5)});
    if (case_.trouble == Trouble::analyst_overloaded) {
      add({Ailment::head_overloaded, *analyst, {}, {}, 0, kWarmUp - std::chrono::seconds(5)});
    }
  }

  void add(const Sickness& sickness) {
    judgement_.sicknesses.push_back(sickness);
    begun_.push_back(false);
    was_found_.push_back(false);
  }

  void begin_what_is_due() {
    for (std::size_t i = 0; i < begun_.size(); ++i) {
      if (begun_[i] || judgement_.sicknesses[i].begins > world_.now()) continue;
      begun_[i] = true;
      world_.begin(judgement_.sicknesses[i]);
    }
  }

  // When the first analysis begins, from which the time to the verdict counts.
  void watch_analysts() {
    if (!case_.ailment || threshold_at_ || !begun_.front()) return;
    const Sickness first = judgement_.sicknesses.front();
    for (std::uint32_t i = 0; i < case_.nodes && !threshold_at_; ++i) {
      const NodeId node{i};
      const localize::Group* group = world_.localizer(node).analysed(first.node);
      if (world_.node(node).alive && group != nullptr && is_about(first, *group)) begin_threshold(node);
    }
  }

  // Whether the symptoms may be of the sickness. Those that no rule knows have symptoms that no rule knows.
  [[nodiscard]] bool is_about(const Sickness& sickness, const localize::Group& group) const {
    const localize::Fault fault = expected_fault(sickness.ailment);
    return std::ranges::any_of(group, [&](const localize::Observation& seen) {
      if (localize::is_of_rank(fault) && seen.suspect.rank != sickness.rank) return false;
      if (fault != Fault::undetermined)
        return explained_.at(static_cast<std::size_t>(fault)).test(static_cast<std::size_t>(seen.kind));
      return seen.kind == SymptomKind::crc_mismatch;
    });
  }

  void begin_threshold(NodeId analyst) {
    threshold_at_ = world_.now();
    if (case_.trouble != Trouble::analyst_dies) return;
    add({Ailment::node_down, analyst, {}, {}, 0, world_.now()});
  }

  // A dead node whose neighbours are cut off cannot be told from one that is cut off with them: nobody reaches any of
  // them. So it counts as found if it is named with them.
  [[nodiscard]] bool hidden_by_cut(const Sickness& sickness, const localize::Verdict& verdict) {
    if (sickness.ailment != Ailment::node_down || verdict.fault != Fault::partition) return false;
    if (std::ranges::find(verdict.nodes, sickness.node) == verdict.nodes.end()) return false;
    const std::uint32_t count = case_.nodes;
    const std::uint32_t steps[] = {1, count - 1, 2, count - 2};
    const auto neighbours = std::ranges::count_if(steps, [&](std::uint32_t step) {
      return world_.cut_off(NodeId{(sickness.node.value + step) % count}) != world_.cut_off(verdict.analyst);
    });
    return neighbours >= 2;
  }

  [[nodiscard]] bool fits(const Sickness& sickness, const localize::Verdict& verdict) {
    if (hidden_by_cut(sickness, verdict)) return true;
    if (verdict.fault != expected_fault(sickness.ailment)) return false;
    if (sickness.ailment == Ailment::partition) {
      // What one analyst says of several nodes is merged. A dead one among them is judged by hidden_by_cut().
      return std::ranges::all_of(verdict.nodes, [&](NodeId node) {
        return world_.cut_off(node) != world_.cut_off(verdict.analyst) || !world_.node(node).alive;
      });
    }
    if (verdict.suspect.node == sickness.other && sickness.ailment == Ailment::path_corrupts) {
      return verdict.nodes == std::vector{sickness.node};
    }
    if (verdict.suspect.node != sickness.node) return false;
    if (sickness.ailment == Ailment::path_corrupts) return verdict.nodes == std::vector{sickness.other};
    return !localize::is_of_rank(verdict.fault) || verdict.suspect.rank == sickness.rank;
  }

  void judge(const localize::Verdict& verdict, Time at) {
    if (verdict.withdrawn) return;
    Found found{verdict, at, std::nullopt};
    for (std::size_t i = 0; i < begun_.size(); ++i) {
      if (!begun_[i] || !fits(judgement_.sicknesses[i], verdict)) continue;
      was_found_[i] = true;
      if (!found.which) found.which = i;
    }
    if (!found.which) ++judgement_.false_verdicts;
    judgement_.found.push_back(std::move(found));
  }

  [[nodiscard]] bool all_found() const { return std::ranges::all_of(was_found_, std::identity{}); }

  void summarize() {
    judgement_.detected = static_cast<std::uint32_t>(std::ranges::count(was_found_, true));
    judgement_.messages = world_.messages();
    judgement_.most_kept = world_.most_kept();
    for (const Found& found : judgement_.found) {
      if (found.which != std::size_t{0}) continue;
      const auto since = [&](Time then) { return std::chrono::duration<double>(found.at - then).count(); };
      const Time own = found.verdict.decided_at - found.verdict.threshold_at;
      judgement_.from_threshold =
          std::max(threshold_at_ ? since(*threshold_at_) : 0, std::chrono::duration<double>(own).count());
      judgement_.from_start = since(judgement_.sicknesses.front().begins);
      break;
    }
  }

  SickCase case_;
  std::array<localize::Symptoms, localize::kFaults> explained_{};
  Judgement judgement_;
  std::vector<bool> begun_, was_found_;
  std::optional<Time> threshold_at_;
  SickWorld world_;
};

}  // namespace

std::string_view name_of(Ailment ailment) { return kAilmentNames.at(static_cast<std::size_t>(ailment)); }
std::string_view name_of(Trouble trouble) { return kTroubleNames.at(static_cast<std::size_t>(trouble)); }

Fault expected_fault(Ailment ailment) {
  switch (ailment) {
    case Ailment::process_dead: return Fault::process_dead;
    case Ailment::rank_stuck: return Fault::rank_stuck;
    case Ailment::rank_slow: return Fault::rank_slow;
    case Ailment::node_down: return Fault::node_down;
    case Ailment::node_stolen: return Fault::node_stolen;
    case Ailment::node_swapping: return Fault::node_swapping;
    case Ailment::store_failing: return Fault::store_failing;
    case Ailment::store_full: return Fault::store_full;
    case Ailment::link_degraded: return Fault::link_degraded;
    case Ailment::partition: return Fault::partition;
    case Ailment::path_corrupts: return Fault::path_corrupts;
    case Ailment::head_overloaded: return Fault::head_overloaded;
    case Ailment::store_corrupts: return Fault::store_corrupts;
    case Ailment::card_errors: return Fault::link_degraded;
    case Ailment::memory_flips: break;
  }
  return Fault::undetermined;
}

Judgement play(const SickCase& what) { return Trial(what).play(); }

void Accuracy::add(const Judgement& judgement) {
  expected += static_cast<std::uint32_t>(judgement.sicknesses.size());
  detected += judgement.detected;
  false_verdicts += judgement.false_verdicts;
  if (judgement.from_threshold) from_threshold.push_back(*judgement.from_threshold);
  if (judgement.from_start) from_start.push_back(*judgement.from_start);
}

void Accuracy::add(const Accuracy& other) {
  expected += other.expected;
  detected += other.detected;
  false_verdicts += other.false_verdicts;
  from_threshold.insert(from_threshold.end(), other.from_threshold.begin(), other.from_threshold.end());
  from_start.insert(from_start.end(), other.from_start.begin(), other.from_start.end());
}

double Accuracy::precision() const {
  const std::uint32_t all = detected + false_verdicts;
  return all == 0 ? 1 : static_cast<double>(detected) / all;
}

double Accuracy::recall() const { return expected == 0 ? 1 : static_cast<double>(detected) / expected; }

double Accuracy::median() const { return localize::median_of(from_threshold); }

double Accuracy::median_from_start() const { return localize::median_of(from_start); }

}  // namespace cairn::test
