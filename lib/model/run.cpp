#include "model/run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cairn::model {
namespace {

std::mt19937_64 generator_of(std::uint64_t seed, std::uint32_t number) {
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U), number};
  return std::mt19937_64(sequence);
}

}  // namespace

Run::Run(const Experiment& experiment, std::uint64_t seed, std::uint32_t number)
    : experiment_(experiment), random_(generator_of(seed, number)), interval_(experiment.pattern.interval()) {
  for (std::size_t i = 0; i < experiment.levels.size(); ++i) {
    rate_ += experiment.levels[i].rate;
    every_[i] = experiment.pattern.every(i);
  }
  draw_failure();
}

RunOutcome Run::play() {
  while (!impatient()) {
    Failure failure = take_snapshot();
    const bool working = !failure;
    if (working) failure = work_to_next_slot();
    if (failure) {
      recover(*failure, keeps(*failure, working));
    } else if (done_ >= experiment_.work) {
      outcome_.finished = true;
      break;
    }
  }
  return outcome_;
}

Run::Failure Run::pass(double seconds, double& account) {
  if (outcome_.total + seconds <= next_failure_) {
    outcome_.total += seconds;
    account += seconds;
    return std::nullopt;
  }
  account += next_failure_ - outcome_.total;
  outcome_.total = next_failure_;
  draw_failure();
  double pick = uniform() * rate_;
  std::size_t level = 0;
  for (; level + 1 < experiment_.levels.size() && pick >= experiment_.levels[level].rate; ++level)
    pick -= experiment_.levels[level].rate;
  ++outcome_.failures[level];
  return level;
}

Run::Failure Run::take_snapshot() {
  // The job may be past this slot, on the way to the next one: survivors of a failure go on from where they were.
  if (slot_ == 0 || done_ > position_of(slot_)) return std::nullopt;
  std::size_t first = 0;
  for (std::size_t i = 0; i < experiment_.levels.size(); ++i) {
    if (stored_[i] == slot_) first = i + 1;
  }
  for (std::size_t i = first; i < experiment_.levels.size(); ++i) {
    if (every_[i] == 0 || slot_ % every_[i] != 0) continue;
    if (auto failure = pass(experiment_.levels[i].cost, outcome_.checkpoints)) return failure;
    stored_[i] = slot_;
  }
  return std::nullopt;
}

Run::Failure Run::work_to_next_slot() {
  const double next = position_of(slot_ + 1);
  const double target = std::min(next, experiment_.work);
  double worked = 0;
  const auto failure = pass(target - done_, worked);
  done_ = failure ? done_ + worked : target;
  if (!failure && target == next) ++slot_;
  return failure;
}

bool Run::keeps(std::size_t level, bool working) const {
  switch (experiment_.protocol) {
    case Protocol::coordinated: return false;
    case Protocol::asynchronous: return working;
    case Protocol::local: return level < experiment_.local_levels;
  }
  return false;
}

void Run::recover(std::size_t level, bool keep) {
  while (!impatient()) {
    std::fill_n(stored_.begin(), level, std::nullopt);
    const Source source = newest_from(level);
    if (!keep) {
      slot_ = source.slot;
      done_ = position_of(slot_);
    }
    auto failure = pass(experiment_.levels[source.level].recovery, outcome_.recovery);
    double again = 0;
    if (!failure && keep) failure = pass((done_ - position_of(source.slot)) / experiment_.helpers, again);
    if (!failure) return;
    level = *failure;
    keep = keep && keeps(level, false);
  }
}

Run::Source Run::newest_from(std::size_t level) const {
  Source newest{0, level};
  for (std::size_t i = level; i < experiment_.levels.size(); ++i) {
    if (stored_[i] && *stored_[i] > newest.slot) newest = {*stored_[i], i};
  }
  return newest;
}

double Run::position_of(std::uint64_t slot) const { return slot == 0 ? 0 : static_cast<double>(slot) * interval_; }

bool Run::impatient() const { return outcome_.total > kPatience * experiment_.work; }

void Run::draw_failure() {
  next_failure_ = rate_ > 0 ? outcome_.total - std::log1p(-uniform()) / rate_ : std::numeric_limits<double>::infinity();
}

// In [0, 1), from the generator's upper bits: the distributions of <random> differ between standard libraries.
double Run::uniform() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }

}  // namespace cairn::model
