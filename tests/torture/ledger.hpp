// What ranks note of a life as they go, and the ledger in which all notes come together for the model to judge.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <cairn/error.hpp>

#include "torture/model.hpp"

namespace cairn::torture {

// How finalize() ended: well; with an error; or after a failed restore, so that it left everything as it was.
enum class Ending { well, failed, of_nothing };

// An error as it is noted and judged: its kind, and what it says.
[[nodiscard]] std::string noted(ErrorKind kind, const std::string& text);
[[nodiscard]] std::string noted(const Exception& error);

// The n-th time that ranks ask for a snapshot, and how many do.
struct Try {
  std::size_t number = 0;
  std::uint32_t ranks = 0;
  Asked asked;
};

// One rank's, or all ranks'.
class Notes {
 public:
  virtual ~Notes() = default;
  // A rank has a session, of so many.
  virtual void opens(std::uint32_t ranks) = 0;
  virtual void tries(std::uint64_t stamp) = 0;
  virtual void takes(std::uint32_t version, std::uint64_t stamp) = 0;
  // The snapshot of this state will be pinned.
  virtual void pins(std::uint64_t stamp) = 0;
  // A rank is about to choose a version, or to reject what it has opened; and has rejected it, as all have.
  virtual void chooses(const Asked& asked) = 0;
  virtual void rejects(std::uint32_t version, std::uint64_t stamp) = 0;
  virtual void has_rejected(std::uint64_t stamp) = 0;
  virtual void is_safe(std::uint32_t level, std::uint32_t version) = 0;
  virtual void is_wrong(const std::string& what) = 0;
  // The restore of this number, or what was opened, of `ranks` that take part in it; null: it failed with this error.
  virtual void restored(const Try& which, const Restored* seen, const std::string& error) = 0;
  // Of a finalize that may end the chain: a rank that is killed in it cannot say how it ended.
  virtual void finalizes() = 0;
  virtual void has_finalized(Ending ending) = 0;
};

// Of all ranks of one attempt of a life. Thread-safe.
class Ledger final : public Notes {
 public:
  explicit Ledger(Model& model) : model_(model) {}

  void opens(std::uint32_t ranks) override;
  void tries(std::uint64_t stamp) override;
  void takes(std::uint32_t version, std::uint64_t stamp) override;
  void pins(std::uint64_t stamp) override;
  void chooses(const Asked& asked) override;
  void rejects(std::uint32_t version, std::uint64_t stamp) override;
  void has_rejected(std::uint64_t stamp) override;
  void is_safe(std::uint32_t level, std::uint32_t version) override;
  void is_wrong(const std::string& what) override;
  // Judged when the last rank is through with it.
  void restored(const Try& which, const Restored* seen, const std::string& error) override;
  void finalizes() override;
  void has_finalized(Ending ending) override;
  // The store of a host, or the global one, has lost all under way, or a version.
  void is_lost(std::optional<std::uint32_t> host, std::optional<std::uint32_t> version);
  // Nobody comes any more to what is not judged yet.
  void end();

  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  [[nodiscard]] bool may_have_ended() const { return finalizing_ > 0; }
  [[nodiscard]] std::uint32_t endings(Ending ending) const { return endings_[static_cast<std::size_t>(ending)]; }
  [[nodiscard]] bool has_snapshots() const { return has_snapshots_; }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  struct Restore {
    std::vector<Restored> seen;
    std::string error;
    Asked asked;
    std::uint32_t ranks = 0;
    bool judged = false;
  };
  void judge(Restore& restore);

  std::mutex mutex_;
  Model& model_;
  std::string wrong_;
  std::vector<Restore> restores_;
  std::uint32_t ranks_ = 0;  // 0: none got a session
  std::uint32_t finalizing_ = 0;
  std::uint32_t endings_[3] = {0, 0, 0};
  bool has_snapshots_ = false;
};

}  // namespace cairn::torture
