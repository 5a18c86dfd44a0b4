#include "localize/survey.hpp"

namespace cairn::localize {

void Survey::want(Time now) {
  const auto place = tree_.place(self_);
  if (!place || !idle() || now < quiet_until_) return;
  begins_ = now + static_cast<std::int64_t>(*place) * settings_.survey_stagger;
}

bool Survey::take(NodeId from, const Answer& answer, Time now) { return round_ && round_->take(from, answer, now); }

std::optional<CallReports> Survey::turn(Time now) {
  if (begins_ && now >= *begins_) {
    note(now);
    const auto nodes = tree_.nodes();
    const Suspect nobody{self_, std::nullopt};
    round_.emplace(Probe::log, nobody, std::vector(nodes.begin(), nodes.end()), now, settings_.answer_limit, true);
  }
  if (!round_) return std::nullopt;
  round_->turn(self_, now, port_, numbers_, settings_);
  if (!round_->done(now)) return std::nullopt;
  CallReports reports = round_->reports();
  round_.reset();
  return reports;
}

}  // namespace cairn::localize
