// The program that a scenario's job runs: what its ranks do, and what they note of it for the model to judge.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cairn/error.hpp>

#include "support/job.hpp"
#include "torture/model.hpp"
#include "torture/scenario.hpp"

namespace cairn::torture {

// What all ranks of a life have seen, as they go. Thread-safe.
class Ledger {
 public:
  explicit Ledger(Model& model) : model_(model) {}

  void tries(std::uint64_t stamp);
  void takes(std::uint32_t version, std::uint64_t stamp);
  void is_safe(std::uint32_t level, std::uint32_t version);
  void is_wrong(const std::string& what);
  // One restore that all ranks take part in; judged when the last of them is through with it.
  void restored(std::size_t which, std::uint32_t ranks, const Restored* seen, const std::string& error);
  // What the others did not come to, since the job was killed.
  void end();

  // How finalize() ended: well; with an error; or after a failed restore, so that it left everything as it was.
  enum class Ending { well, failed, of_nothing };
  void has_finalized(Ending ending);
  [[nodiscard]] std::uint32_t endings(Ending ending) const { return endings_[static_cast<std::size_t>(ending)]; }
  [[nodiscard]] bool has_snapshots() const { return has_snapshots_; }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  struct Restore {
    std::vector<Restored> seen;
    std::string error;
    std::uint32_t ranks = 0;
    bool judged = false;
  };
  void judge(Restore& restore);

  std::mutex mutex_;
  Model& model_;
  std::string wrong_;
  std::vector<Restore> restores_;
  std::uint32_t endings_[3] = {0, 0, 0};
  bool has_snapshots_ = false;
};

// One rank's application: its state says of which moment of the job it is, so what comes back can be judged. Errors it
// takes no notice of, and goes on.
class Application {
 public:
  // `well_meant`: nothing goes wrong on purpose.
  Application(test::JobSession& session, const Life& life, std::uint64_t first_stamp, bool well_meant, Ledger& ledger);
  void run();

 private:
  void handle(const Event& event);
  void end();
  void compute();
  void fill();
  [[nodiscard]] std::vector<double> expected() const;
  void toggle_more();
  void unprotect_unknown();
  void snapshot(std::optional<LevelId> level);
  void restore(const char* region);
  [[nodiscard]] std::optional<Exception> try_restore(const char* region, Restored& seen);
  void look_at(const Restored& seen, std::uint64_t stamp_before);
  void leave_out_a_snapshot();
  void leave_out_a_restore();
  void drop();
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
      if (error.kind() == ErrorKind::communication) gone_ = true;
      return error;
    }
  }

  test::JobSession& session_;
  const Life& life_;
  std::uint64_t first_stamp_;
  bool well_meant_;
  Ledger& ledger_;

  std::vector<double> state_;
  std::uint64_t stamp_ = 0;
  std::uint64_t elements_ = 20;
  std::vector<int> more_ = std::vector<int>(7);
  std::uint64_t next_stamp_ = 0;
  std::size_t restores_ = 0;
  bool has_more_ = false;
  bool has_begun_ = false;  // by a restore or a snapshot
  bool undefined_ = false;  // the last restore failed
  bool gone_ = false;
};

}  // namespace cairn::torture
