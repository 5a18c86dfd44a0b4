// Says when the levels set to `auto` are due: by the optimal pattern (model/pattern.hpp) for what they cost and for how
// often failures need them. Pure: the caller passes figures and times that all ranks agreed on, so the answer is the
// same everywhere.
//
// Levels with a rule of their own (every N, a time) keep it. They handle the failures that they survive, so the pattern
// is made for the other levels only. Failures of a level that is off fall to the next one above.
//
// While nothing is known, the first call takes a snapshot at all auto levels: it measures them, and shows early whether
// they work. A level that is not worth its cost is left out, but tried again with the first, second, fourth, eighth …
// snapshot at the next used level above, so that one bad measurement does not decide for ever.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "config/config.hpp"
#include "model/pattern.hpp"

namespace cairn {

// Of one level; seconds, all above 0.
struct LevelInputs {
  double cost = 0;
  double recovery = 0;
  double mtbf = 0;
  bool assumed = false;  // the cost was not measured yet
};
using ModelInputs = std::array<LevelInputs, kLevels>;

// Only a snapshot at this level or above lets ranks drop messages from their logs (see lib/replay), and without one a
// log would be full after so much work, in seconds.
struct LogBound {
  LevelId level = LevelId::local;
  double fills_after = 0;
};

struct AutoModel {
  std::vector<LevelId> ids;
  std::vector<model::LevelModel> levels;
};
// The levels set to auto as the model sees them. Where L1 is not one of them, and not due at each call anyway, the cost
// of the snapshot itself is added to that of the lowest.
[[nodiscard]] AutoModel auto_model(const Config::Levels& levels, LevelSet usable, const ModelInputs& figures);

class AutoSchedule {
 public:
  AutoSchedule(const Config::Levels& levels, LevelSet usable);

  // Chooses the pattern for these figures. `bound`: if its level is auto, the interval of that level is at most
  // kLogShare of the time after which a log would be full; higher levels keep their intervals.
  void choose(const ModelInputs& figures, const std::optional<LogBound>& bound = std::nullopt);
  // A log still holds messages from before a snapshot until that is complete everywhere. And without this margin, logs
  // would be nearly full just before a snapshot is due, which asks for another one (replay::Journal::fills).
  static constexpr double kLogShare = 0.75;

  // text(), when the pattern is the first, or differs noticeably, by more than a fifth, from the one reported last.
  [[nodiscard]] std::optional<std::string> take_news();
  // Whether the cost of some level has not been measured yet.
  [[nodiscard]] bool assumes() const;

  // What is due after this much work since the start or restart(): the pattern's next snapshot. Late calls do not shift
  // the ones after them. When a level is due, all used levels below it are due too.
  [[nodiscard]] LevelSet due(std::chrono::microseconds worked);

  // Work counts from 0 again, as after a restore.
  void restart();

  // "a snapshot every 42 s, L2 every 4th, L3 never (cost 25 ms, 0.1 s, 1 s; MTBF 12 h, 3 d, 10 d)"
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const std::optional<model::Pattern>& pattern() const { return pattern_; }

 private:
  [[nodiscard]] LevelSet next_in_pattern();
  [[nodiscard]] LevelSet first_look();

  Config::Levels levels_;
  LevelSet usable_;
  AutoModel model_;
  ModelInputs figures_;
  std::optional<model::Pattern> pattern_;
  std::optional<LogBound> bound_;  // that has made the interval shorter
  std::optional<model::Pattern> told_;
  std::chrono::microseconds last_{0};
  // By level of the model: snapshots since the last one there, and those there in all.
  std::vector<std::uint64_t> since_;
  std::vector<std::uint64_t> taken_;
  bool looked_ = false;
};

}  // namespace cairn
