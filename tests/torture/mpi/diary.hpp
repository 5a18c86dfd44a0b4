// What one process of a real job notes, in a file: a line of JSON each, written before the call returns, so that a rank
// that is killed has lost nothing. And the inverse: the notes of all ranks, attempt by attempt, in the order of time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "torture/ledger.hpp"

namespace cairn::torture {

class Diary final : public Notes {
 public:
  // Makes the file, in the directory, under the numbers of who started this process, and of itself.
  explicit Diary(std::string directory);
  ~Diary() override;
  Diary(const Diary&) = delete;
  Diary& operator=(const Diary&) = delete;

  // A number that no other attempt has: to be called by one rank, and told to the others.
  [[nodiscard]] std::uint32_t claim_attempt() const;
  // What follows is of this attempt.
  void begins_attempt(std::uint32_t number, bool goes_on);
  void cannot_open(const std::string& why);
  // Instead of a reason: another process has it.
  static constexpr const char* kToldElsewhere = "another process of the job says why";

  void opens(std::uint32_t ranks) override;
  void tries(std::uint64_t stamp) override;
  void takes(std::uint32_t version, std::uint64_t stamp) override;
  void pins(std::uint64_t stamp) override;
  void chooses(const Asked& asked) override;
  void rejects(std::uint32_t version, std::uint64_t stamp) override;
  void has_rejected(std::uint64_t stamp) override;
  void is_safe(std::uint32_t level, std::uint32_t version) override;
  void is_wrong(const std::string& what) override;
  void restored(const Try& which, const Restored* seen, const std::string& error) override;
  void finalizes() override;
  void has_finalized(Ending ending) override;

 private:
  void write(const nlohmann::json& line);

  std::string directory_;
  int file_ = -1;
  std::int64_t began_ = 0;
  std::int64_t attempt_ = -1;
};

using Moment = std::chrono::steady_clock::time_point;

// How often a job has come so far, as its diaries say: started, or with a session.
[[nodiscard]] std::size_t count_beginnings(const std::string& directory);
[[nodiscard]] std::size_t count_attempts(const std::string& directory);

// Of one attempt.
struct Chapter {
  Moment began{};   // the first of its processes
  Moment opened{};  // the first of its sessions
  bool goes_on = false;
  std::vector<nlohmann::json> lines;
};
struct Diaries {
  std::vector<Chapter> chapters;  // in the order of their numbers
  std::string open_error;
};
// Lines that were cut short are left out.
[[nodiscard]] Diaries read_diaries(const std::string& directory);
void copy(const Chapter& chapter, Notes& notes);

}  // namespace cairn::torture
