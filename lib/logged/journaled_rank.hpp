// A LoggedRank: the rank's journal and all that belongs to it, which are the record of its choices, the files of its
// log, and the check for deadlocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/trace.hpp"
#include "logged/choice_record.hpp"
#include "replay/deadlock_check.hpp"
#include "replay/journal.hpp"
#include "replay/long_wait.hpp"
#include "rollback/logged_rank.hpp"
#include "rollback/repairs.hpp"

namespace cairn::rollback {

class JournaledRank final : public LoggedRank {
 public:
  // `repairs` must outlive this object.
  JournaledRank(Setting setting, Repairs& repairs);
  ~JournaledRank() override { end_world(); }

  void joins(World world) override;
  void leaves() override { end_world(); }

  [[nodiscard]] replay::Journal& journal() override { return journal_; }
  [[nodiscard]] replay::DeadlockCheck& deadlocks() override { return deadlocks_; }
  void on_loss(OnLoss on_loss) override { on_loss_ = std::move(on_loss); }

  [[nodiscard]] bool replaces() const override { return journal_.is_replacement(); }
  [[nodiscard]] bool catches_up() const override { return journal_.catches_up(); }
  [[nodiscard]] bool computes_again() const override {
    return journal_.began_later() && (catches_up() || journal_.is_at_restore());
  }
  [[nodiscard]] bool is_unchecked() const override { return journal_.unchecked_since().has_value(); }
  [[nodiscard]] std::optional<Obstacle> why_all_roll_back() const override;
  [[nodiscard]] Rank number() const override { return setting_.rank; }

  void obstruct(const std::string& what, Until until) override;
  void note_stop_signal() override;
  [[nodiscard]] Status rolls_back(const std::string& what) override;
  [[nodiscard]] bool stays_after(const Error& error) override;

  [[nodiscard]] Patience begin_patience(const std::string& call) override;
  [[nodiscard]] Status wait_patiently(const std::function<bool()>& done, const std::string& call,
                                      const Wait& wait) override;
  [[nodiscard]] Status check_messages(const Wait& wait) override;

  [[nodiscard]] bool is_past(std::uint64_t call) const override { return call <= journal_.past(); }
  [[nodiscard]] std::optional<Version> answer_of(std::uint64_t call) const override;
  void enters(std::uint64_t call, const std::function<Version(LevelId)>& reached) override;
  void takes(std::uint64_t call, Version version) override { journal_.takes(call, version.value); }
  [[nodiscard]] LogGrowth note_log_growth() override;
  void note_full_log(LevelId level) override;

  void drops(const Versions& meant, const std::function<Version(LevelId)>& reached) override;
  [[nodiscard]] bool is_dropped(LevelId level, Version meant, Version reached) const override;

  [[nodiscard]] Status settle_prologue() override;
  [[nodiscard]] Status begins(std::uint64_t call) override;
  [[nodiscard]] Result<Settled> settle(std::uint64_t epoch, std::uint64_t calls, Version last) override;
  [[nodiscard]] std::vector<replay::Repeated> take_repeated() override { return std::exchange(repeated_, {}); }
  [[nodiscard]] Result<Settled> takes_over(std::uint64_t epoch, Version last, const Status& completed) override;
  [[nodiscard]] std::optional<std::uint64_t> recompute() override;
  void ends() override { choices_.remove(*world_->local); }

 private:
  void end_world();
  void open_spill();
  void look_whether_caught_up();

  struct CatchUp {
    Trace::Span span;
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  };

  const Setting setting_;
  Repairs& repairs_;
  replay::Journal journal_;
  replay::DeadlockCheck deadlocks_;  // while it is in a world
  ChoiceRecord choices_;
  std::optional<OnLoss> on_loss_;
  std::optional<World> world_;
  std::optional<CatchUp> catch_up_;  // since it has rolled back alone, while it is in that world
  std::vector<replay::Repeated> repeated_;
  Versions dropped_ = {};
  bool log_has_filled_ = false;  // before it was cut
};

}  // namespace cairn::rollback
