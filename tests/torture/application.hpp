// The program that a scenario's job runs: what its ranks do, and what they note of it for the model to judge. It knows
// neither MPI nor threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <cairn/error.hpp>
#include <cairn/session_base.hpp>

#include "torture/ledger.hpp"
#include "torture/scenario.hpp"

namespace cairn::torture {

// One rank's application: its state says of which moment of the job it is, so what comes back can be judged. Errors it
// takes no notice of, and goes on.
class Application {
 public:
  // What a session cannot do itself. `drop` is the end of the one that the application uses.
  struct Ways {
    std::function<void()> kill_job;
    std::function<void()> drop;
    std::function<void()> pause = [] {};  // between events
    bool run_finalizes = false;           // and not the application: cairn::run does, when that has returned
    std::function<void()> about_to_finalize = [] {};
  };
  // `well_meant`: nothing goes wrong on purpose. All stays the caller's.
  Application(SessionBase& session, Ways ways, const Life& life, std::uint64_t first_stamp, bool well_meant,
              Notes& notes);
  void run();
  // Whether finalize leaves everything as it was: nothing was begun, or the last restore failed.
  [[nodiscard]] bool has_nothing_to_end() const { return undefined_ || !has_begun_; }

 private:
  void handle(const Event& event);
  void end();
  void compute();
  void fill();
  [[nodiscard]] std::vector<double> expected() const;
  [[nodiscard]] std::vector<double> expected_on(std::uint32_t rank) const;
  [[nodiscard]] static std::vector<double> state_of(std::uint64_t stamp, std::uint64_t elements, std::uint32_t rank);
  [[nodiscard]] std::vector<double> expected_of(std::uint32_t old_ranks) const;
  [[nodiscard]] std::vector<double> expected_grid() const;
  struct Share {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  [[nodiscard]] Share share_of(std::uint64_t all) const;
  void protect_with_kinds();
  void toggle_more();
  void unprotect_unknown();
  void snapshot(std::optional<LevelId> level);
  void pinned_snapshot();
  bool restore(const char* region, const Asked& asked = {});  // whether it went well
  bool choose(const Asked& asked);
  void choose_before_the_newest(std::uint32_t back);
  std::optional<OpenSnapshot> open(Asked::By by, Restored& seen);
  void reject(std::uint32_t rank);
  [[nodiscard]] std::optional<Exception> try_restore(const char* region, const Asked& asked, Restored& seen);
  void look_at(const Restored& seen, std::uint64_t stamp_before);
  void leave_out_a_snapshot();
  void leave_out_a_restore();
  void drop();
  void go_on_without_one();
  void finalize();
  void note_what_is_safe();
  [[nodiscard]] bool is_odd() const { return session_.size() > 1 && session_.rank() == life_.odd_rank; }

  // The error, if there was one. The loss of its peers is the end.
  template <class Call>
  std::optional<Exception> call(Call call) {
    try {
      call();
      return {};
    } catch (const Exception& error) {
      if (error.kind() == ErrorKind::rollback) throw;  // the job mends itself
      if (error.kind() == ErrorKind::communication) gone_ = true;
      return error;
    }
  }

  static constexpr std::uint64_t kElements = 20;
  static constexpr const char* kPinned = "pinned";
  static constexpr std::uint64_t kGrid = 32;  // rows and columns; not fewer than there are ranks

  SessionBase& session_;
  Ways ways_;
  const Life& life_;
  std::uint64_t first_stamp_;
  bool well_meant_;
  Notes& notes_;

  std::vector<double> state_;
  std::vector<double> grid_;  // of elastic lives: this rank's part of an array of all ranks
  std::uint32_t old_ranks_ = 0;
  std::uint64_t stamp_ = 0;
  std::uint64_t elements_ = kElements;
  std::vector<int> more_ = std::vector<int>(7);
  std::uint64_t next_stamp_ = 0;
  std::size_t restores_ = 0;
  bool has_more_ = false;
  bool has_begun_ = false;  // by a restore or a snapshot
  bool undefined_ = false;  // the last restore failed
  bool gone_ = false;
};

}  // namespace cairn::torture
