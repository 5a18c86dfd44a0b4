#include "localize/errands.hpp"

#include <algorithm>

namespace cairn::localize {
namespace {

constexpr std::size_t kMostErrands = 256;

}  // namespace

void Errands::ask(NodeId asker, const Question& question, Time now) {
  const auto same = std::ranges::find_if(
      errands_, [&](const Errand& errand) { return errand.asker == asker && errand.asked == question.number; });
  if (same != errands_.end()) {
    if (same->reached) answer(*same);
    return;
  }
  if (errands_.size() >= kMostErrands) return;
  const Suspect suspect{question.suspect.node, std::nullopt};
  ProbeRound round(Probe::response, suspect, {suspect.node}, now, settings_.errand_limit);
  round.turn(self_, now, port_, numbers_, settings_);
  errands_.push_back({asker, question.number, std::move(round), std::nullopt, {}});
}

bool Errands::take(NodeId from, const Answer& answer, Time now) {
  return std::ranges::any_of(errands_, [&](Errand& errand) { return errand.round.take(from, answer, now); });
}

void Errands::turn(Time now) {
  std::erase_if(errands_, [&](Errand& errand) {
    if (errand.reached) return now >= errand.until;
    errand.round.turn(self_, now, port_, numbers_, settings_);
    if (!errand.round.done(now)) return false;
    const auto facts = errand.round.facts({});
    errand.reached = !facts.empty() && facts.front().second > 0;
    errand.until = now + settings_.witness_limit;
    answer(errand);
    return false;
  });
}

void Errands::answer(const Errand& errand) {
  port_.send(errand.asker, {self_, numbers_++, Answer{errand.asked, WitnessAnswer{*errand.reached}}});
}

}  // namespace cairn::localize
