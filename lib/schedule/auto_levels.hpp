// The levels that are set to `auto`, for one session: measures what they cost, keeps count of the failures that needed
// them, agrees on both through the Pulse, and says what is due (schedule/auto_schedule).
//
// All ranks decide from the same data: what they agreed on in a beat, or what their heads told all of them. From time
// to time and at the end, what is known is kept in the job's global store; the next life begins with it.
//
// MTBFs are [failures] mtbf at first, scaled from [failures] nodes to the nodes of the job. Once the job has seen five
// failures, a level that a failure has needed gets an MTBF of its own: the observed time divided by the number of those
// failures. A life that did not complete finalize counts as a failure of the highest level that the next restore
// needed. Lives that end before their first agreement on time are not counted: a job that cannot start is not one that
// fails often.
//
// Where ranks log their messages ([recovery] rollback = lost), a level whose snapshots let them drop messages is due
// before a log is full (AutoSchedule::choose). How fast logs fill is the mean over all work of this session so far.
//
// One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/ids.hpp"
#include "config/config.hpp"
#include "format/job_costs.hpp"
#include "schedule/auto_schedule.hpp"
#include "schedule/cost_meter.hpp"
#include "schedule/pulse.hpp"

namespace cairn {

// The lowest level whose snapshots let ranks drop messages from their logs.
[[nodiscard]] LevelId level_that_cuts_logs(const Config& config, LevelSet usable);

class AutoLevels {
 public:
  // nullptr: no level that can be used is auto. `nodes`: of the job. `before`: what earlier lives left.
  static std::unique_ptr<AutoLevels> make(const Config& config, LevelSet usable, Incarnation life, std::uint32_t nodes,
                                          const std::optional<JobCosts>& before);

  // What this rank measures.
  [[nodiscard]] CostMeter& meter() { return meter_; }

  // A restore took `time` on this rank; `highest`: the highest level that some rank needed, nothing if the start is
  // fresh. After a restore of a snapshot, elapsed time counts from 0 again.
  void restored(std::optional<LevelId> highest, std::chrono::microseconds time);

  // On all ranks alike: what is due after this beat.
  [[nodiscard]] LevelSet due(const Pulse::Beat& beat);

  // A line for the log when there is a new choice: once for each, and at most one a minute. While costs are not known
  // yet, the first line waits up to a minute for them.
  [[nodiscard]] std::optional<std::string> take_news();
  // What is known, when it is time to keep it: early, then each time the life has become a twentieth longer.
  [[nodiscard]] std::optional<JobCosts> take_record();
  // What is known now.
  [[nodiscard]] JobCosts record() const;

 private:
  AutoLevels(const Config& config, LevelSet usable, Incarnation life, std::uint32_t nodes, const JobCosts& before);
  [[nodiscard]] ModelInputs figures() const;
  [[nodiscard]] std::chrono::microseconds observed() const { return observed_ + elapsed_; }
  [[nodiscard]] double mtbf(std::size_t level) const;
  void note_log(const Pulse::Beat& beat);
  [[nodiscard]] std::optional<LogBound> log_bound() const;

  AutoSchedule schedule_;
  LevelId cuts_logs_;
  CostMeter meter_;
  std::array<double, kLevels> configured_mtbf_{};  // seconds
  Incarnation life_;
  bool after_failure_;  // the life before did not end, and no restore has said yet what that took
  std::array<std::uint64_t, kLevels> failures_{};

  // As agreed on.
  std::chrono::microseconds observed_;    // before elapsed_
  std::chrono::microseconds elapsed_{0};  // since the start or the last restore
  RankCosts costs_;
  std::uint64_t logged_ = 0;                // see Pulse::Beat
  std::chrono::microseconds log_time_{0};   // of work, during which
  std::uint64_t log_filled_ = 0;            // was logged, in the same unit
  std::optional<LogBound> bound_;           // when the pattern was chosen
  std::chrono::microseconds chosen_at_{0};  // observed(), when the pattern was chosen
  std::optional<std::chrono::microseconds> recorded_at_;
  std::optional<std::chrono::microseconds> told_at_;
};

}  // namespace cairn
